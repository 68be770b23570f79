// The worker that all tabs of a browser share: one connection for each fold that is watched.
// A browser keeps only six connections to one server, so a seventh tab would wait for ever.

import { openStream } from "./stream.js";

/** @typedef {import("./stream.js").News} News */

/** @type {Map<string, {ports: Set<MessagePort>, snapshots: any[], state: News | null, close: () => void}>} */
const streams = new Map();

/** @param {string} path */
function begin(path) {
  const stream = { ports: new Set(), snapshots: /** @type {any[]} */ ([]), state: /** @type {News | null} */ (null), close: () => {} };
  streams.set(path, stream);
  stream.close = openStream(path, (news) => {
    if (news.kind === "snapshots") stream.snapshots.push(...news.data);
    if (news.kind === "restart") stream.snapshots = [];
    if (news.kind === "state") stream.state = news;
    for (const port of stream.ports) port.postMessage(news);
    if (news.kind === "end") streams.delete(path);
  });
  return stream;
}

/** @param {string} path @param {MessagePort} port */
function leave(path, port) {
  const stream = streams.get(path);
  stream?.ports.delete(port);
  if (stream && !stream.ports.size) {
    stream.close();
    streams.delete(path);
  }
}

self.addEventListener("connect", (event) => {
  const [port] = /** @type {MessageEvent} */ (event).ports;
  let path = "";
  port.addEventListener("message", ({ data }) => {
    if (data === "leave") return leave(path, port);
    path = String(data);
    const stream = streams.get(path) ?? begin(path);
    stream.ports.add(port);
    // a tab that comes later receives what the others have
    if (stream.snapshots.length) port.postMessage({ kind: "snapshots", data: stream.snapshots });
    if (stream.state) port.postMessage(stream.state);
  });
  port.start();
});
