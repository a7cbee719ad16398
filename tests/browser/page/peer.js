"use strict";
// One peer of a call: plain browser API, told what to do by the test. Descriptions carry all candidates.

let pc, messages, opened, reports;

async function open({camera, cameras, microphone, channel, decodeReports, scalabilityMode}) {
  pc = new RTCPeerConnection();
  messages = [];
  pc.ontrack = ({track}) => {
    document.querySelector(track.kind).srcObject = new MediaStream([track]);
  };
  pc.ondatachannel = ({channel}) => listen(channel);
  if (channel) listen(pc.createDataChannel("chat"));
  if (decodeReports) reports = pc.createDataChannel("codecpilot-decode");
  if (!camera && !microphone) return;
  const stream = await navigator.mediaDevices.getUserMedia({video: camera, audio: microphone});
  const more = Array.from({length: cameras - 1}, () => stream.getVideoTracks()[0].clone());
  for (const track of [...stream.getTracks(), ...more]) {
    if (track.kind === "video" && scalabilityMode) {
      pc.addTransceiver(track, {streams: [stream], sendEncodings: [{scalabilityMode}]});
    } else {
      pc.addTrack(track, stream);
    }
  }
}

function listen(channel) {
  opened = channel;
  channel.onmessage = ({data}) => messages.push(data);
}

function choose({receive, codec}) {
  if (receive && !video()) pc.addTransceiver("video", {direction: "recvonly"});
  if (!video() || !codec) return;
  const known = RTCRtpReceiver.getCapabilities("video").codecs;
  const wanted = c => c.mimeType === `video/${codec}` || c.mimeType === "video/rtx";
  video().setCodecPreferences(known.filter(wanted));
}

const video = () => pc.getTransceivers().find(t => t.receiver.track.kind === "video");

async function local() {
  await pc.setLocalDescription();
  while (pc.iceGatheringState !== "complete") {
    await new Promise(done => { pc.onicegatheringstatechange = done; });
  }
  return pc.localDescription.sdp;
}

async function offer(choices) {
  choose(choices);
  return local();
}

async function answer(choices, sdp) {
  await pc.setRemoteDescription({type: "offer", sdp});
  choose(choices);
  return local();
}

const accept = sdp => pc.setRemoteDescription({type: "answer", sdp});

// Later offers and answers carry it.
function turn(direction) {
  video().direction = direction;
}

function scaleDown(by) {
  const parameters = video().sender.getParameters();
  parameters.encodings[0].scaleResolutionDownBy = by;
  return video().sender.setParameters(parameters);
}

// Of the codecs that were negotiated, without another round of offer and answer.
function sendCodec(codec) {
  const parameters = video().sender.getParameters();
  const known = parameters.codecs;
  parameters.encodings[0].codec = known.find(c => c.mimeType === `video/${codec}`);
  return video().sender.setParameters(parameters);
}

async function stats() {
  return [...(await pc.getStats()).values()];
}

// The shown picture, 32x18 pixels: luma of each.
function look() {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [32, 18];
  const context = canvas.getContext("2d");
  context.drawImage(document.querySelector("video"), 0, 0, 32, 18);
  const {data} = context.getImageData(0, 0, 32, 18);
  return Array.from({length: 32 * 18}, (_, i) =>
    0.299 * data[4 * i] + 0.587 * data[4 * i + 1] + 0.114 * data[4 * i + 2]);
}

function close() {
  pc.getSenders().forEach(s => s.track?.stop());
  pc.close();
}
