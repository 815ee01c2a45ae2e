"use strict";
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const S = data.strings, runs = data.runs, $ = id => document.getElementById(id);
const esc = t => String(t).replace(/[&<>"']/g, c => "&#" + c.charCodeAt(0) + ";");
const UNITS = [["s", 1e12], ["ms", 1e9], ["µs", 1e6], ["ns", 1e3]];
const span = ps => { for (const [u, n] of UNITS) if (Math.abs(ps) >= n) return +(ps / n).toPrecision(4) + " " + u; return Math.round(ps) + " ps"; };
const amount = b => b >= 1 << 20 ? +(b / (1 << 20)).toPrecision(3) + " MiB" : b >= 1024 ? +(b / 1024).toPrecision(3) + " KiB" : b + " B";
const LEFT = 72, RIGHT = 16, DRAWN = 6000;
const long = Math.max(...runs.map(r => r.end - r.start), 1);
const ranks = Math.max(...runs.map(r => r.lanes.length), 0);
const unique = (f, g) => [...new Set(runs.flatMap(r => [...r.spans.filter(s => s[3] == 0).map(f), ...r.arrows.map(g)]))];
const names = { operation: unique(s => s[4], a => a[5]), group: unique(s => s[5], a => a[6]) };
const state = { from: 0, to: long, step: -1, by: "operation", lanes: new Set(Array(ranks).keys()), groups: new Set(names.group), timer: 0 };
const last = Math.max(...runs.map(r => r.moments.length)) - 1;
const colour = n => { const at = names[state.by].indexOf(n); const p = document.documentElement.classList.contains("dark") ? data.dark : data.palette; return at < 0 ? "var(--compute)" : p[at % p.length]; };
const thick = b => Math.min(1 + Math.max(Math.log2(b + 1) - 6, 0) / 4, 7);

// ------------------------------------------------------------------------------------ the pictures
const panels = runs.map((run, number) => {
  const box = document.createElement("section");
  box.innerHTML = (runs.length > 1 ? `<h2>${"ab"[number]}: ${esc(run.title)}</h2>` : "") + '<svg tabindex="0" role="img"></svg><p class="note"></p>';
  $("runs").append(box);
  return { run, number, svg: box.querySelector("svg"), note: box.querySelector("p") };
});
if (runs.length > 1) $("runs").className = "two";

function cursorOf(run) {
  if (state.step < 0 || !run.moments.length) return null;
  return run.moments[Math.min(state.step, run.moments.length - 1)];
}
const orders = new Map(runs.map(r => [r, new Map(r.moments.map((m, i) => [m[3], i]))]));
const order = run => orders.get(run);
function ticks(most) {
  const range = state.to - state.from;
  for (let decade = 1; ; decade *= 10) for (const m of [1, 2, 5]) {
    const step = m * decade;
    if (range / step < most) { const out = []; for (let t = Math.ceil(state.from / step) * step; t <= state.to; t += step) out.push(t); return out; }
  }
}
function render(panel) {
  const { run, svg } = panel, lanes = [...state.lanes].filter(l => l < run.lanes.length).sort((a, b) => a - b);
  const wide = Math.max(svg.clientWidth, 200), place = new Map(lanes.map((l, i) => [l, i]));
  const pitch = Math.max(18, Math.min(60, (innerHeight * .62) / Math.max(lanes.length, 1)));
  const high = 12 + lanes.length * pitch + 26, scale = (wide - LEFT - RIGHT) / (state.to - state.from || 1);
  const x = t => LEFT + (t - run.start - state.from) * scale, y = l => 12 + (place.get(l) + .5) * pitch;
  const now = cursorOf(run), after = order(run), later = (t, n) => now && (after.get(n) ?? (t > now[0] ? 1e9 : -1)) > state.step ? " later" : "";
  const seen = (a, b) => b - run.start >= state.from && a - run.start <= state.to;
  const out = [], right = wide - RIGHT, bar = Math.min(13, pitch * .34);
  for (const t of ticks(Math.max(wide / 110, 2))) {
    const at = LEFT + (t - state.from) * scale;
    out.push(`<line class="rule" x1="${at}" x2="${at}" y1="6" y2="${high - 22}" opacity=".5"/><text class="soft" x="${at}" y="${high - 8}" text-anchor="${at > right - 40 ? "end" : "middle"}">${t ? span(t) : "0"}</text>`);
  }
  for (const l of lanes) out.push(`<line class="rule" x1="${LEFT}" x2="${right}" y1="${y(l)}" y2="${y(l)}"/><text x="2" y="${y(l) + 4}">${esc(run.lanes[l])}</text>`);
  out.push(`<clipPath id="c${panel.number}"><rect x="${LEFT - 6}" y="0" width="${right - LEFT + 12}" height="${high}"/></clipPath><g clip-path="url(#c${panel.number})">`);
  let drawn = 0, hidden = 0;
  run.spans.forEach((s, i) => {
    if (!place.has(s[0]) || !seen(s[1], s[2]) || (s[5] && S[s[5]] && !state.groups.has(s[5]))) return;
    if (drawn++ > DRAWN) return void hidden++;
    const tall = s[3] == 0 ? bar : bar * .55, w = Math.max((s[2] - s[1]) * scale, 1);
    const paint = s[3] == 0 ? `fill="${colour(state.by == "group" ? s[5] : s[4])}" fill-opacity=".42"${s[7] ? ' stroke="currentColor" stroke-opacity=".5" stroke-dasharray="3 2"' : ""}` : "";
    out.push(`<rect data-s="${i}" class="${s[3] ? "k" + s[3] : ""}${s[8] ? " failed" : ""}${later(s[1], s[9])}" x="${x(s[1])}" y="${y(s[0]) - tall / 2 + (s[7] ? bar * .85 : 0)}" width="${w}" height="${tall}" rx="1.5" ${paint}/>`);
  });
  const most = Math.max(1, ...Object.values(run.memory).flat().map(m => m[1])), room = pitch * .3;
  for (const [l, held] of Object.entries(run.memory)) if (place.has(+l)) { // what a rank holds, beneath its line
    const base = y(+l) + pitch * .48;
    let path = `M${x(run.start)} ${base}`;
    for (const [t, b] of held) path += `H${x(t)}V${base - b / most * room}`;
    out.push(`<path class="mem" data-m="${l}" d="${path}H${x(run.end)}V${base}Z"/>`);
  }
  drawn = 0;
  run.arrows.forEach((a, i) => {
    if (!place.has(a[0]) || !place.has(a[1]) || !state.groups.has(a[6]) || !seen(a[2], a[3])) return;
    if (drawn++ > DRAWN) return void hidden++;
    const x1 = x(a[2]), x2 = x(a[3]), y1 = y(a[0]), y2 = y(a[1]), c = colour(state.by == "group" ? a[6] : a[5]), t = thick(a[4]);
    const path = a[0] == a[1] ? `M${x1} ${y1}C${x1} ${y1 - 18} ${x2} ${y2 - 18} ${x2} ${y2}` : `M${x1} ${y1}L${x2} ${y2}`;
    out.push(`<g data-a="${i}" class="${later(a[2], a[9])}"><path d="${path}" fill="none" stroke="transparent" stroke-width="${t + 8}"/><path d="${path}" fill="none" stroke="${c}" stroke-opacity=".85" stroke-width="${t}" stroke-linecap="round"${a[8] ? "" : ' class="lost"'}/>${a[8] ? `<circle cx="${x2}" cy="${y2}" r="${t / 2 + 1.5}" fill="${c}"/>` : ""}</g>`);
  });
  const parted = data.parting && data.parting[panel.number];
  if (data.parting) {
    const m = parted == null ? null : run.moments[parted], at = x(m ? m[0] : run.end);
    out.push(`<line class="part" x1="${at}" x2="${at}" y1="2" y2="${high - 22}"/>`);
    if (m && place.has(m[1])) out.push(`<circle class="part" fill="none" cx="${at}" cy="${y(m[1])}" r="9"/>`);
  }
  if (now) {
    out.push(`<line class="cursor" x1="${x(now[0])}" x2="${x(now[0])}" y1="2" y2="${high - 22}"/>`);
    if (place.has(now[1])) out.push(`<circle class="here" cx="${x(now[0])}" cy="${y(now[1])}" r="6"/>`);
  }
  svg.setAttribute("viewBox", `0 0 ${wide} ${high}`);
  svg.style.height = high + "px";
  svg.setAttribute("aria-label", `${run.title}: ${run.lanes.length} ranks, ${run.arrows.length} messages`);
  svg.innerHTML = out.join("") + "</g>";
  panel.note.textContent = [run.note, hidden ? `${hidden} things are not drawn here: zoom in.` : ""].filter(Boolean).join(" ");
}
function draw() {
  panels.forEach(render);
  const said = runs.map((run, i) => { const m = cursorOf(run); return m ? (runs.length > 1 ? "<b>" + "ab"[i] + "</b> " : "") + `${span(m[0] - run.start)}: ${esc(S[m[2]])}` : ""; }).filter(Boolean);
  const part = data.parting ? `<span class="part">${esc(data.parting[2])}</span>` : runs.length > 1 ? "equal as partial orders" : "";
  $("now").innerHTML = state.step < 0 ? part || `${span(long)} in all. <kbd>→</kbd> steps, <kbd>space</kbd> plays, <kbd>+</kbd> zooms, <kbd>?</kbd> tells more.` : `<span class="soft">${state.step + 1} of ${last + 1}</span> ${said.join("<br>")}`;
}

// -------------------------------------------------------------------------------------- the player
function go(step) {
  state.step = Math.max(-1, Math.min(step, last));
  const m = cursorOf(runs[0]);
  if (m) { // keep it in sight
    const at = m[0] - runs[0].start, range = state.to - state.from;
    if (at < state.from || at > state.to) look(at - range / 2, at + range / 2);
  }
  draw();
}
function look(from, to) {
  const range = Math.max(Math.min(to - from, long), Math.min(10, long));
  state.from = Math.max(0, Math.min(from, long - range));
  state.to = state.from + range;
}
function zoom(factor, at = null) {
  const m = cursorOf(runs[0]);
  if (at == null) at = m ? m[0] - runs[0].start : (state.from + state.to) / 2;
  look(at - (at - state.from) * factor, at + (state.to - at) * factor);
  draw();
}
function play() {
  const button = $("play");
  if (state.timer) { clearInterval(state.timer); state.timer = 0; button.textContent = "▶"; button.title = "play (space)"; return; }
  if (state.step >= last) state.step = -1;
  button.textContent = "‖"; button.title = "pause (space)";
  state.timer = setInterval(() => state.step < last ? go(state.step + Math.max(1, Math.round(last / 600))) : play(), 120);
}
const toParting = () => { if (data.parting) { const [a, b] = data.parting; go(a ?? b ?? last); } };
const theme = () => { document.documentElement.classList.toggle("dark"); legend(); draw(); };
const help = () => { $("now").innerHTML = "<kbd>←</kbd> <kbd>→</kbd> step (with shift by ten), <kbd>home</kbd> <kbd>end</kbd>, <kbd>space</kbd> play, <kbd>+</kbd> <kbd>−</kbd> <kbd>0</kbd> zoom, <kbd>a</kbd> <kbd>d</kbd> move, <kbd>c</kbd> colours, <kbd>t</kbd> light or dark, <kbd>p</kbd> where two runs part. Drag and turn the wheel with ctrl. Thick is many bytes; steep is fast."; };
const move = part => { const by = (state.to - state.from) * part; look(state.from + by, state.to + by); draw(); };
const colours = () => { state.by = state.by == "operation" ? "group" : "operation"; legend(); draw(); };
const keys = {
  ArrowRight: e => go(state.step + (e.shiftKey ? 10 : 1)), ArrowLeft: e => go(state.step - (e.shiftKey ? 10 : 1)),
  Home: () => go(0), End: () => go(last), " ": play, "+": () => zoom(.6), "=": () => zoom(.6), "-": () => zoom(1 / .6),
  "0": () => { look(0, long); draw(); }, Escape: () => go(-1), c: colours, t: theme, p: toParting, "?": help, a: () => move(-.2), d: () => move(.2),
};
addEventListener("keydown", e => {
  const inside = e.target.closest("input,select,button,summary");
  if (e.ctrlKey || e.metaKey || e.altKey || (inside && (e.key == " " || e.key == "Enter")) || e.target.matches("select")) return;
  if (keys[e.key]) { e.preventDefault(); keys[e.key](e); }
});
const BUTTONS = [["|◁", "first step (home)", "first", () => go(0)], ["◁", "back (←)", "back", () => go(state.step - 1)], ["▶", "play (space)", "play", play],
  ["▷", "step (→)", "step", () => go(state.step + 1)], ["▷|", "last step (end)", "last", () => go(last)], ["−", "zoom out (−)", "out", () => zoom(1 / .6)], ["+", "zoom in (+)", "in", () => zoom(.6)],
  ["fit", "all of it (0)", "fit", () => { look(0, long); draw(); }], ["◐", "light or dark (t)", "theme", theme], ["?", "keys", "help", help]];
if (data.parting) BUTTONS.splice(5, 0, ["≠", "where they part (p)", "part", toParting]);
for (const [text, title, id, act] of BUTTONS) {
  const b = Object.assign(document.createElement("button"), { textContent: text, title, id, onclick: act });
  b.setAttribute("aria-label", title);
  $("bar").append(b);
}

// ------------------------------------------------------------------------------ filters and legend
function legend() {
  const key = (style, text) => `<span><i class="key" style="background:${style}"></i>${text}</span>`;
  const kinds = [[1, "compute", "computes"], [3, "coming", "its message is on its way"], [2, "wait", "waits"]].filter(([k]) => runs.some(r => r.spans.some(s => s[3] == k)));
  const held = runs.find(r => Object.keys(r.memory).length);
  $("legend").innerHTML = [...names[state.by].map(n => key(colour(n), esc(S[n]) || "—")), ...kinds.map(([, v, t]) => key(`var(--${v})`, t)),
    ...(held ? [key("var(--compute);opacity:.35", "beneath: " + esc(held.memoryIs))] : [])].join(" ");
}
function choice(title, items, set) {
  const box = document.createElement("details");
  box.innerHTML = `<summary>${title}</summary><div><button>all</button></div>`;
  const inside = box.querySelector("div"), boxes = items.map(([value, text]) => {
    const label = document.createElement("label"), input = Object.assign(document.createElement("input"), { type: "checkbox", checked: true });
    input.onchange = () => { input.checked ? set.add(value) : set.delete(value); draw(); };
    label.append(input, " " + text);
    inside.append(label);
    return [input, value];
  });
  box.querySelector("button").onclick = () => { const on = !boxes.every(([i]) => i.checked); for (const [i, v] of boxes) { i.checked = on; on ? set.add(v) : set.delete(v); } draw(); };
  box.id = title;
  $("filters").append(box);
}
choice("ranks", [...Array(ranks).keys()].map(l => [l, (runs.find(r => r.lanes[l]) || runs[0]).lanes[l]]), state.lanes);
choice("groups", names.group.map(g => [g, S[g] || "—"]), state.groups);
const by = Object.assign(document.createElement("button"), { textContent: "colours", title: "by operation or by group (c)", onclick: colours });
$("filters").append(by, Object.assign(document.createElement("span"), { id: "legend", style: "display:contents" }));
legend();

// ----------------------------------------------------------------------------------- the pointer
for (const panel of panels) {
  const { svg, run } = panel;
  const time = e => { const r = svg.getBoundingClientRect(); return state.from + (e.clientX - r.left - LEFT) / (r.width - LEFT - RIGHT) * (state.to - state.from); };
  svg.addEventListener("wheel", e => { if (e.ctrlKey || e.shiftKey) { e.preventDefault(); zoom(e.deltaY > 0 ? 1.2 : 1 / 1.2, time(e)); } }, { passive: false });
  let grip = null;
  svg.addEventListener("pointerdown", e => { grip = { x: e.clientX, from: state.from, to: state.to }; });
  addEventListener("pointerup", () => { grip = null; svg.classList.remove("drag"); });
  svg.addEventListener("pointermove", e => {
    if (grip) {
      svg.classList.add("drag");
      const by = (grip.x - e.clientX) / (svg.clientWidth - LEFT - RIGHT) * (grip.to - grip.from);
      look(grip.from + by, grip.to + by);
      return draw();
    }
    const thing = e.target.closest("[data-a],[data-s],[data-m]"), tip = $("tip");
    tip.hidden = !thing;
    if (!thing) return;
    if (thing.dataset.a) { const a = run.arrows[thing.dataset.a]; tip.textContent = `${S[a[7]]} · ${amount(a[4])}, ` + (a[8] ? span(a[3] - a[2]) + " on its way" : "never received"); }
    else if (thing.dataset.m) tip.textContent = `${run.lanes[thing.dataset.m]}: ${run.memoryIs}, at most ${amount(Math.max(...run.memory[thing.dataset.m].map(m => m[1])))}`;
    else { const s = run.spans[thing.dataset.s]; tip.textContent = `${S[s[6]]} · ${span(s[2] - s[1])}`; }
    tip.style.left = Math.min(e.clientX + 14, innerWidth - tip.offsetWidth - 8) + "px";
    tip.style.top = Math.min(e.clientY + 14, innerHeight - tip.offsetHeight - 8) + "px";
  });
  svg.addEventListener("pointerleave", () => { $("tip").hidden = true; });
  svg.addEventListener("dblclick", e => zoom(.5, time(e)));
}
addEventListener("resize", draw);
const wanted = new URLSearchParams(location.hash.slice(1));
if (wanted.has("dark") || matchMedia("(prefers-color-scheme: dark)").matches) { document.documentElement.classList.add("dark"); legend(); }
if (wanted.has("by")) { state.by = wanted.get("by") == "group" ? "group" : "operation"; legend(); }
if (wanted.has("zoom")) look(...wanted.get("zoom").split(",").map(f => f * long));
wanted.has("step") ? go(+wanted.get("step")) : draw();
})();
