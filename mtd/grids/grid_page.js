(() => {
const box = [...document.querySelectorAll("#NAME")].find(one => !one.dataset.ready); // a page may have outputs of several programs
if (!box) return;
box.dataset.ready = "1";
const steps = [...box.querySelectorAll("section")], bar = box.querySelector("nav"), last = steps.length - 1;
let at = 0, timer = 0;
const show = n => { at = Math.max(0, Math.min(last, n)); steps.forEach((s, i) => { s.hidden = i !== at; }); place.textContent = " " + at + " of " + last; };
const stop = () => { clearInterval(timer); timer = 0; play.textContent = "▶ play"; };
const button = (text, says, act) => { const b = document.createElement("button"); b.type = "button"; b.textContent = text; b.setAttribute("aria-label", says); b.onclick = act; bar.append(b); return b; };
button("|◀", "first step", () => { stop(); show(0); });
button("◀", "one step back", () => { stop(); show(at - 1); });
button("▶", "one step on", () => { stop(); show(at + 1); });
const play = button("▶ play", "play all steps", () => {
  if (timer) return stop();
  if (at === last) show(0);
  play.textContent = "❚❚ stop";
  timer = setInterval(() => at < last ? show(at + 1) : stop(), 1000);
});
const place = document.createElement("span");
place.setAttribute("role", "status");
bar.append(place);
box.addEventListener("keydown", e => {
  const way = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
  if (way) { e.preventDefault(); e.stopPropagation(); stop(); show(at + way); }
});
show(+box.dataset.first);
})();
