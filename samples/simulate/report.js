// Draws each direction's charts; the pointer and the zoom of one are those of all.

const CHART_HEIGHT_PX = 190;

const CHARTS = [
  { title: "Rate", unit: "kbps on the wire", from: "rates", step: true, low: 0, lines: [
    ["capacity", "capacity", "--capacity"], ["sent", "sent", "--one"], ["arrived", "arrived", "--three"], ["target", "video target", "--two"], ["estimate", "estimate", "--quiet"]] },
  { title: "Queue delay", unit: "ms, each packet", from: "queue", low: 0, lines: [["ms", "queue", "--one"]] },
  { title: "VBV delay", unit: "ms, after each frame", from: "frames", low: 0, lines: [["vbv", "VBV", "--one"]] },
  { title: "Quantizer", unit: "0 fine, 63 coarse; dots: key frames", from: "frames", low: 0, high: 63, lines: [["quantizer", "quantizer", "--one"]], dots: "key" },
  { title: "Encoded after", unit: "ms, from capture on; late beyond the frame interval", from: "frames", low: 0, lines: [["encode", "encoded", "--one"], ["interval", "interval", "--two"]] },
  { title: "Latency", unit: "ms, capture to shown", from: "frames", low: 0, lines: [["latency", "latency", "--one"]] },
  { title: "What was shown", unit: "PSNR-Y of the screen, dB", from: "frames", lines: [["psnr", "likeness", "--one"]] },
  { title: "How old it was", unit: "pictures behind what was due", from: "frames", step: true, low: 0, lines: [["age", "behind", "--two"]] },
];

const css = getComputedStyle(document.documentElement);
const color = (name) => css.getPropertyValue(name).trim();
const data = JSON.parse(document.getElementById("data").textContent);

function draw(parent, spec, series, key) {
  const columns = series[spec.from];
  const box = document.createElement("div");
  box.className = "chart";
  const heading = document.createElement("h3");
  heading.append(spec.title);
  const unit = document.createElement("small");
  unit.textContent = spec.unit;
  heading.append(unit);
  const legend = document.createElement("div");
  legend.className = "legend";
  const values = spec.lines.map(([, label, stroke]) => {
    const entry = document.createElement("span");
    const mark = document.createElement("i");
    mark.style.setProperty("--color", color(stroke));
    const value = document.createElement("b");
    entry.append(mark, `${label} `, value);
    legend.append(entry);
    return value;
  });
  box.append(heading, legend);
  parent.append(box);
  const size = () => ({ width: box.clientWidth, height: CHART_HEIGHT_PX });
  const plot = new uPlot(options(spec, series, columns, key, size(), values), [columns.t, ...spec.lines.map(([name]) => columns[name])], box);
  new ResizeObserver(() => plot.setSize(size())).observe(box);
}

function options(spec, series, columns, key, size, values) {
  const axis = { stroke: color("--quiet"), grid: { stroke: color("--edge"), width: 1 }, ticks: { show: false }, font: "11px system-ui" };
  return {
    ...size,
    legend: { show: false },
    cursor: { sync: { key, scales: ["x", null] }, points: { size: 6 }, y: false, drag: { x: true, y: false } },
    scales: { x: { time: false, range: (_, low, high) => [low, high] }, y: { range: (_, low, high) => range(spec, low, high) } },
    axes: [{ ...axis, size: 26, values: (_, ticks) => ticks.map((t) => `${t} s`) }, { ...axis, size: 48 }],
    series: [{}, ...spec.lines.map(([, , stroke]) => ({
      stroke: color(stroke), width: 1.5, points: { show: false }, spanGaps: true,
      paths: spec.step ? uPlot.paths.stepped({ align: 1 }) : undefined,
    }))],
    hooks: {
      drawAxes: [(plot) => bands(plot, series.freezes)],
      draw: [(plot) => spec.dots && dots(plot, columns, spec)],
      setCursor: [(plot) => values.forEach((value, i) => {
        const shown = plot.cursor.idx === null || plot.cursor.idx === undefined ? null : plot.data[i + 1][plot.cursor.idx];
        value.textContent = shown === null ? "" : shown;
      })],
    },
  };
}

function range(spec, low, high) {
  if (low === null || high === null) return [0, 1];
  const room = (high - low || 1) * 0.08;
  return [spec.low ?? low - room, spec.high ?? high + room];
}

function bands(plot, spans) {
  const { ctx } = plot;
  const { left, top, width, height } = plot.bbox;
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, top, width, height);
  ctx.clip();
  ctx.fillStyle = color("--freeze");
  for (const [from, to] of spans) {
    const start = plot.valToPos(from, "x", true);
    ctx.fillRect(start, top, Math.max(2, plot.valToPos(to, "x", true) - start), height);
  }
  ctx.restore();
}

function dots(plot, columns, spec) {
  const { ctx } = plot;
  ctx.save();
  ctx.fillStyle = color("--two");
  columns[spec.dots].forEach((marked, i) => {
    const value = columns[spec.lines[0][0]][i];
    const t = columns.t[i];
    if (!marked || value === null || t < plot.scales.x.min || t > plot.scales.x.max) return;
    ctx.beginPath();
    ctx.arc(plot.valToPos(t, "x", true), plot.valToPos(value, "y", true), 3.5 * devicePixelRatio, 0, 2 * Math.PI);
    ctx.fill();
  });
  ctx.restore();
}

for (const [name, series] of Object.entries(data)) {
  const parent = document.querySelector(`[data-direction="${CSS.escape(name)}"] .charts`);
  CHARTS.forEach((spec) => draw(parent, spec, series, name));
}
