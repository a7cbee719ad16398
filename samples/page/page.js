// Draws what comes over the call's WebSocket: text is figures, binary is a side's letter and a JPEG.

const KEPT_POINTS = 120;
// Narrower, the first points would be told apart by milliseconds.
const MIN_SECONDS = 10;
const CHART_HEIGHT_PX = 150;
const RETRY_MS = 2000;

const css = getComputedStyle(document.documentElement);
const color = (name) => css.getPropertyValue(name).trim();
const COLORS = { "A>B": color("--a"), "B>A": color("--b") };

const TILES = [
  ["codec", (f) => f.codec ?? "–", (f) => `${f.width}×${f.height}`],
  ["preset", (f) => f.preset ?? "–", (f) => f.reason ?? ""],
  ["coded at most", (f) => f.coded?.join("×") ?? "–", (f) => (f.every > 1 ? `1 picture of ${f.every}` : "")],
  ["frame rate", (f) => f.fps, () => "fps"],
  ["bitrate", (f) => whole(f.kbps), () => "kbps"],
  ["path estimate", (f) => whole(f.estimate_kbps), () => "kbps"],
  ["target", (f) => whole(f.target_kbps), () => "kbps"],
  ["pacer queue", (f) => tenth(f.pacer_ms), () => "ms"],
  ["limited by", (f) => f.limited_by ?? "–", () => ""],
  ["quantizer", (f) => whole(f.quantizer), () => "of 63"],
  ["latency", (f) => whole(f.latency_ms.p50), () => "ms"],
  ["A/V offset", (f) => whole(f.av_offset_ms), () => "ms"],
  ["encode / decode", (f) => `${tenth(f.encode_ms)} / ${tenth(f.decode_ms)}`, () => "ms"],
  ["freezes", (f) => f.freeze_count, (f) => `${f.freeze_s.toFixed(1)} s`, (f) => f.freeze_count > 0],
];

// Only where a model scored the devices: the sender's score first.
const START_TILES = [
  ["rtc_score", (f) => `${score(f.start?.sender)} → ${score(f.start?.receiver)}`, () => ""],
  ["tier", (f) => `${f.start?.sender.tier ?? "–"} → ${f.start?.receiver?.tier || "–"}`, () => ""],
];

// Only where an emulated link carries the call.
const LINK_TILES = [
  ["queue delay", (f) => whole(f.link?.queue_delay_ms.p50), (f) => `ms, 95 % ${whole(f.link?.queue_delay_ms.p95)}`],
  ["link use", (f) => percent(f.link?.utilisation), () => "%"],
  ["lost on the way", (f) => f.link?.packets_lost ?? "–", (f) => `of ${f.link?.packets_offered ?? "–"}`],
  ["queue full", (f) => f.link?.packets_dropped ?? "–", () => "dropped"],
];

const CHARTS = [
  { title: "Bitrate", unit: "kbps", lines: [(f) => f.kbps], from: 0 },
  { title: "Path", unit: "kbps: estimate, dashed what the encoder is asked for", lines: [(f) => f.estimate_kbps ?? null, (f) => f.target_kbps ?? null], from: 0 },
  { title: "Pacer queue", unit: "ms, mean of a second", lines: [(f) => f.pacer_ms ?? null], from: 0 },
  { title: "Latency", unit: "ms, median and 95 %", lines: [(f) => f.latency_ms.p50, (f) => f.latency_ms.p95], from: 0 },
  { title: "Frame rate shown", unit: "fps", lines: [(f) => f.fps], from: 0 },
  { title: "Quantizer", unit: "0 fine, 63 coarse", lines: [(f) => f.quantizer], from: 0, to: 63 },
  { title: "Encode time", unit: "ms a frame", lines: [(f) => f.encode_ms], from: 0 },
  { title: "A/V offset", unit: "ms, above 0: sound first", lines: [(f) => f.av_offset_ms] },
];

const LINK_CHARTS = [
  {
    title: "Queue delay",
    unit: "ms, median and 95 %",
    lines: [(f) => f.link?.queue_delay_ms.p50, (f) => f.link?.queue_delay_ms.p95],
    from: 0,
  },
  { title: "Link use", unit: "% of its capacity", lines: [(f) => f.link && 100 * f.link.utilisation], from: 0 },
];

const score = (side) => (side == null ? "–" : side.rtc_score.toFixed(2));
const whole = (value) => (value == null ? "–" : Math.round(value));
const percent = (value) => (value == null ? "–" : Math.round(100 * value));
const tenth = (value) => (value == null ? "–" : value.toFixed(1));

class Chart {
  constructor(parent, spec) {
    this.spec = spec;
    this.box = document.createElement("div");
    this.box.className = "chart";
    this.box.append(titled(spec.title, spec.unit));
    parent.append(this.box);
    this.data = [[], ...Object.keys(COLORS).flatMap(() => spec.lines.map(() => []))];
    this.plot = new uPlot(this.options(), this.data, this.box);
    new ResizeObserver(() => this.plot.setSize(this.size())).observe(this.box);
  }

  size() {
    return { width: this.box.clientWidth, height: CHART_HEIGHT_PX };
  }

  options() {
    const axis = {
      stroke: color("--quiet"),
      grid: { stroke: color("--edge"), width: 1 },
      ticks: { show: false },
      font: "11px system-ui",
    };
    const line = (stroke, index) => ({ stroke, width: 2, dash: index ? [3, 4] : [], points: { show: false } });
    return {
      ...this.size(),
      cursor: { show: false },
      scales: { x: { time: false, range: (_, low, high) => [low, Math.max(high, low + MIN_SECONDS)] }, y: { range: (_, low, high) => this.range(low, high) } },
      axes: [
        { ...axis, size: 26, space: 70, values: (_, ticks) => ticks.map((t) => `${t} s`) },
        { ...axis, size: 46, space: 28 },
      ],
      series: [{}, ...Object.values(COLORS).flatMap((stroke) => this.spec.lines.map((_, i) => line(stroke, i)))],
    };
  }

  range(low, high) {
    const bottom = this.spec.from ?? Math.min(0, low ?? 0) - 10;
    return [bottom, this.spec.to ?? Math.max((high ?? 0) * 1.15, bottom + 10)];
  }

  add(seconds, directions) {
    const values = Object.keys(COLORS).flatMap((name) =>
      this.spec.lines.map((read) => (directions[name] ? read(directions[name]) : null)),
    );
    [seconds, ...values].forEach((value, i) => {
      this.data[i].push(value);
      if (this.data[i].length > KEPT_POINTS) this.data[i].shift();
    });
    this.plot.setData(this.data);
  }
}

class Side {
  constructor(article) {
    this.name = `${article.dataset.from}>${article.dataset.to}`;
    this.canvas = article.querySelector("canvas");
    this.context = this.canvas.getContext("2d");
    this.list = article.querySelector("dl");
    this.log = article.querySelector("ol");
    this.tiles = [];
    this.add(TILES);
  }

  add(tiles) {
    for (const [label, ...reads] of tiles) {
      const cell = document.createElement("div");
      const dd = document.createElement("dd");
      cell.append(Object.assign(document.createElement("dt"), { textContent: label }), dd);
      this.list.append(cell);
      this.tiles.push([dd, ...reads]);
    }
  }

  async draw(jpeg) {
    const picture = await createImageBitmap(new Blob([jpeg], { type: "image/jpeg" }));
    if (this.canvas.width !== picture.width || this.canvas.height !== picture.height) {
      this.canvas.width = picture.width;
      this.canvas.height = picture.height;
    }
    this.context.drawImage(picture, 0, 0);
    picture.close();
  }

  tell(figures) {
    for (const [dd, value, unit, isBad] of this.tiles) {
      const small = Object.assign(document.createElement("small"), { textContent: unit(figures) });
      dd.replaceChildren(String(value(figures)), small);
      dd.classList.toggle("bad", Boolean(isBad?.(figures)));
    }
    const lines = [...(figures.decisions ?? []).map(decided), ...(figures.start ? [beganAs(figures.start)] : [])];
    this.log.replaceChildren(...lines);
  }
}

function decided(d) {
  const what = `${d.codec} ${d.preset} at ${d.coded.join("×")}${d.every > 1 ? `, 1 picture of ${d.every}` : ""}`;
  const why = `${d.reason}${d.value == null ? "" : ` ${d.value}`}`;
  return Object.assign(document.createElement("li"), { textContent: `${whole(d.ago_s)} s ago: ${what} (${why})` });
}

function beganAs(start) {
  const by = `by ${start.sender.evidence}${start.simulated ? ", by a model of a SIMULATED fleet" : ""}`;
  const what = `${start.codec} ${start.preset}, up to ${start.max_size.join("×")} at ${start.max_fps} fps`;
  return Object.assign(document.createElement("li"), { className: "start", textContent: `by the scores: ${what} (${start.why}; sender scored ${by})` });
}

function titled(title, unit) {
  const heading = document.createElement("h3");
  heading.append(title, Object.assign(document.createElement("small"), { textContent: unit }));
  return heading;
}

function describe(s) {
  const source = s.source.kind === "synthetic" ? "drawn scene" : `${s.source.kind} ${s.source.place}`;
  const link = Object.entries(s.link ?? {}).map(([name, value]) => ` · ${name} ${value}`);
  return `${source} · ${s.width}×${s.height} at ${Number(s.fps) || s.fps} fps · ${s.bitrate_bps / 1000} kbps · preset ${s.preset}${s.device?.adaptation === false ? " · adaptation off" : ""}${s.device?.eligibility ? ` · scores of ${s.device.eligibility}` : ""}${s.cc ? ` · cc ${s.cc}` : ""}${link.join("")}`;
}

function setState(text, name) {
  Object.assign(document.getElementById("state"), { textContent: text, className: name });
}

const sides = new Map([...document.querySelectorAll(".side")].map((a) => [a.dataset.sees, new Side(a)]));
const charts = [];
const addCharts = (specs) => charts.push(...specs.map((spec) => new Chart(document.getElementById("charts"), spec)));
addCharts(CHARTS);
let began = null;
let hasLink = false;
let hasStart = false;

function takeSettings(settings) {
  document.getElementById("settings").textContent = describe(settings);
  if (settings.device?.eligibility && !hasStart) {
    hasStart = true;
    for (const side of sides.values()) side.add(START_TILES);
  }
  if (hasLink || !Object.keys(settings.link ?? {}).length) return;
  hasLink = true;
  for (const side of sides.values()) side.add(LINK_TILES);
  addCharts(LINK_CHARTS);
}

function takeFigures(list) {
  if (!list.length) return;
  began ??= performance.now();
  setState("live", "live");
  const directions = Object.fromEntries(list.map((f) => [`${f.from}>${f.to}`, f]));
  for (const side of sides.values()) side.tell(directions[side.name]);
  const seconds = (performance.now() - began) / 1000;
  for (const chart of charts) chart.add(seconds, directions);
}

function connect() {
  const socket = new WebSocket(`ws://${location.host}/live`);
  socket.binaryType = "arraybuffer";
  socket.onmessage = ({ data }) => {
    if (data instanceof ArrayBuffer) {
      sides.get(String.fromCharCode(new Uint8Array(data)[0])).draw(data.slice(1));
      return;
    }
    const message = JSON.parse(data);
    if (message.kind === "settings") takeSettings(message.settings);
    else takeFigures(message.directions);
  };
  socket.onclose = () => {
    setState("the call has ended", "ended");
    setTimeout(connect, RETRY_MS);
  };
}

connect();
