"use strict";
(() => {
const data = JSON.parse(document.getElementById("data").textContent), $ = id => document.getElementById(id);
const esc = t => String(t).replace(/[&<>"']/g, c => "&#" + c.charCodeAt(0) + ";");
const UNITS = [["s", 1e12], ["ms", 1e9], ["µs", 1e6], ["ns", 1e3]];
const span = ps => { for (const [u, n] of UNITS) if (Math.abs(ps) >= n) return +(ps / n).toPrecision(4) + " " + u; return Math.round(ps) + " ps"; };
const amount = b => b >= 2 ** 30 ? (b / 2 ** 30).toFixed(1) + " GiB" : b >= 2 ** 20 ? (b / 2 ** 20).toFixed(1) + " MiB" : Math.round(b / 1024) + " KiB";
const LEFT = 8, RIGHT = 8, view = { from: 0, to: data.end || 1 };
const key = (colour, text) => `<span class="key" style="background:var(--${colour})"></span>${esc(text)}`;
$("keys").innerHTML = data.kinds.map((k, i) => key("k" + i, k)).join("");

const panels = [];
function panel(where, title, draw) {
  const box = document.createElement("section");
  box.innerHTML = (title ? `<h3>${title}</h3>` : "") + '<svg role="img"></svg>';
  $(where).append(box);
  panels.push({ svg: box.querySelector("svg"), draw });
}
const scale = wide => (wide - LEFT - RIGHT) / (view.to - view.from);
function bars(spans, wide, y, high) {
  const s = scale(wide), out = [];
  for (let i = 0; i < spans.length; i++) {
    const [from, to, kind] = spans[i];
    if (to < view.from || from > view.to) continue;
    const x = LEFT + (Math.max(from, view.from) - view.from) * s, w = Math.max((Math.min(to, view.to) - Math.max(from, view.from)) * s, .6);
    out.push(`<rect x="${x.toFixed(2)}" y="${y}" width="${w.toFixed(2)}" height="${high}" fill="var(--k${kind})" data-i="${i}"/>`);
  }
  return out.join("");
}
function ticks(wide, y) {
  const range = view.to - view.from, s = scale(wide), out = [];
  let step = 1;
  search: for (let decade = 1; ; decade *= 10) for (const m of [1, 2, 5]) { step = m * decade; if (range / step < Math.max(wide / 110, 2)) break search; }
  for (let t = Math.ceil(view.from / step) * step; t <= view.to; t += step) {
    const x = LEFT + (t - view.from) * s, end = x > wide - 45 ? "end" : x < 30 ? "start" : "middle";
    out.push(`<line class="rule" x1="${x}" x2="${x}" y1="${y}" y2="${y + 4}"/><text class="soft" x="${x}" y="${y + 17}" text-anchor="${end}">${t ? span(t) : "0"}</text>`);
  }
  return out.join("");
}
function memory(lane, wide, y, high) {
  const rows = lane.memory, s = scale(wide), n = data.categories.length;
  const total = r => r.slice(1).reduce((a, b) => a + b, 0), most = Math.max(...rows.map(total), 1);
  const top = lane.room && lane.room < 1.6 * most ? Math.max(lane.room, most) : most;
  const h = b => b / top * high, out = [];
  for (let c = n - 1; c >= 0; c--) {
    const points = [];
    let before = null;
    const put = (at, r) => { const x = LEFT + (Math.min(Math.max(at, view.from), view.to) - view.from) * s, v = r.slice(1, c + 2).reduce((a, b) => a + b, 0); points.push(`${x.toFixed(1)},${(y + high - h(v)).toFixed(1)}`); };
    for (const r of rows) { if (before && r[0] > view.from) put(r[0], before); if (r[0] <= view.to) put(r[0], r); before = r; }
    if (before) put(view.to, rows.filter(r => r[0] <= view.to).at(-1) || before);
    const right = LEFT + (view.to - view.from) * s, left = points.length ? points[0].split(",")[0] : LEFT;
    out.push(`<polygon points="${left},${y + high} ${points.join(" ")} ${right},${y + high}" fill="var(--c${c % 7})" opacity=".85"/>`);
  }
  if (lane.room && lane.room <= top) out.push(`<line class="room" x1="${LEFT}" x2="${wide - RIGHT}" y1="${y + high - h(lane.room)}" y2="${y + high - h(lane.room)}"/>`);
  out.push(`<text class="soft" x="${LEFT + 2}" y="${y + 11}">most ${amount(most)}${lane.room ? " of " + amount(lane.room) : ""}</text><rect class="mem" x="${LEFT}" y="${y}" width="${wide - LEFT - RIGHT}" height="${high}" fill="transparent"/>`);
  return out.join("");
}
function marked(lane, wide, y) {
  const shown = lane.marks.filter(m => m[0] >= view.from && m[0] <= view.to), s = scale(wide);
  return shown.map(([at, name]) => { const x = LEFT + (at - view.from) * s; return `<line class="mark" x1="${x}" x2="${x}" y1="0" y2="${y}"/><text class="soft" x="${x + 3}" y="${y}">${esc(name)}</text>`; }).join("");
}
panel("chain", "", wide => ({ high: 46, lists: [data.chain], body: `<g data-list="0">${bars(data.chain, wide, 4, 18)}</g>${ticks(wide, 24)}` }));
for (const lane of data.lanes) {
  panel("lanes", esc(lane.name), wide => {
    let y = 4, body = `<g data-list="0">${bars(lane.program, wide, y, 18)}</g>`;
    y += 22;
    if (lane.marks.length) { body += marked(lane, wide, y + 10); y += 14; }
    if (lane.beside.length) { body += `<g data-list="1">${bars(lane.beside, wide, y, 12)}</g>`; y += 16; }
    if (lane.memory.length) { body += memory(lane, wide, y, 90); y += 92; }
    return { high: y + 22, lists: [lane.program, lane.beside], lane, body: body + ticks(wide, y) };
  });
}
if (data.lanes.some(l => l.memory.length)) $("keys").innerHTML += "<br>memory: " + data.categories.map((c, i) => key("c" + i % 7, c)).join("");

function render() {
  for (const p of panels) {
    const wide = Math.max(p.svg.clientWidth, 200);
    p.drawn = p.draw(wide);
    p.svg.setAttribute("viewBox", `0 0 ${wide} ${p.drawn.high}`);
    p.svg.setAttribute("height", p.drawn.high);
    p.svg.innerHTML = p.drawn.body;
  }
}
function zoom(by, middle = (view.from + view.to) / 2) {
  const wide = Math.min(Math.max((view.to - view.from) * by, 1000), data.end || 1);
  const share = (middle - view.from) / (view.to - view.from);
  view.from = Math.min(Math.max(middle - share * wide, 0), (data.end || 1) - wide);
  view.to = view.from + wide;
  render();
}
$("in").onclick = () => zoom(.5); $("out").onclick = () => zoom(2); $("all").onclick = () => { view.from = 0; view.to = data.end || 1; render(); };
const tip = $("tip");
for (const p of panels) {
  const at = e => view.from + (e.clientX - p.svg.getBoundingClientRect().left - LEFT) / scale(p.svg.clientWidth);
  p.svg.addEventListener("wheel", e => { if (!e.ctrlKey && !e.shiftKey) return; e.preventDefault(); zoom(e.deltaY > 0 ? 1.25 : .8, at(e)); }, { passive: false });
  let from = null;
  p.svg.addEventListener("pointerdown", e => { from = [e.clientX, view.from, view.to]; p.svg.setPointerCapture(e.pointerId); p.svg.classList.add("drag"); });
  p.svg.addEventListener("pointerup", () => { from = null; p.svg.classList.remove("drag"); });
  p.svg.addEventListener("pointermove", e => {
    if (from) {
      const range = from[2] - from[1], move = (from[0] - e.clientX) / scale(p.svg.clientWidth);
      view.from = Math.min(Math.max(from[1] + move, 0), (data.end || 1) - range); view.to = view.from + range;
      return render();
    }
    const list = e.target.parentNode && e.target.parentNode.dataset ? e.target.parentNode.dataset.list : undefined;
    let text = "";
    if (list !== undefined && e.target.dataset.i) {
      const [a, b, kind, what, times] = p.drawn.lists[list][e.target.dataset.i];
      text = `${what}${times > 1 ? ` and ${times - 1} more` : ""}: ${data.kinds[kind]}, ${span(b - a)} from ${span(a)}`;
    } else if (e.target.classList.contains("mem")) {
      const row = p.drawn.lane.memory.filter(r => r[0] <= at(e)).at(-1);
      if (row) text = span(at(e)) + ": " + data.categories.map((c, i) => row[i + 1] ? `${c} ${amount(row[i + 1])}` : "").filter(Boolean).join(", ");
    }
    tip.hidden = !text; tip.textContent = text;
    tip.style.left = Math.min(e.clientX + 12, innerWidth - tip.offsetWidth - 8) + "px"; tip.style.top = e.clientY + 16 + "px";
  });
  p.svg.addEventListener("pointerleave", () => { tip.hidden = true; });
}
addEventListener("keydown", e => { if (e.key === "+" || e.key === "=") zoom(.5); if (e.key === "-") zoom(2); if (e.key === "0") $("all").click(); });
addEventListener("resize", render);
render();
})();
