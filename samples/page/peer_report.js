"use strict";
// Tells a codecpilot peer each second what this browser's decoder takes of each video that it receives, so that the
// peer sends what is decoded in time. docs/wire-format.md has the fields. In a page of a peer connection pc, before
// its first offer or answer:
//   reportDecoding(pc, pc.createDataChannel("codecpilot-decode"));

const DECODE_REPORT_MS = 1000;
const DECODE_COUNTERS = [
  "framesReceived", "framesDecoded", "framesDropped", "totalDecodeTime", "totalProcessingDelay",
];

function reportDecoding(pc, channel) {
  const before = new Map();
  const timer = setInterval(async () => {
    if (pc.connectionState === "closed" || channel.readyState === "closed") return clearInterval(timer);
    if (channel.readyState !== "open") return;
    const stats = await pc.getStats();
    for (const now of stats.values()) {
      if (now.type !== "inbound-rtp" || now.kind !== "video") continue;
      const last = before.get(now.id);
      before.set(now.id, now);
      const codec = stats.get(now.codecId);
      if (last && codec && channel.readyState === "open") channel.send(JSON.stringify(decodeReport(last, now, codec)));
    }
  }, DECODE_REPORT_MS);
}

function decodeReport(last, now, codec) {
  const report = {
    mid: now.mid,
    codec: codec.mimeType.replace("video/", ""),
    interval: (now.timestamp - last.timestamp) / 1000,
    frameWidth: now.frameWidth ?? 0,
    frameHeight: now.frameHeight ?? 0,
  };
  for (const name of DECODE_COUNTERS) report[name] = (now[name] ?? 0) - (last[name] ?? 0);
  return report;
}
