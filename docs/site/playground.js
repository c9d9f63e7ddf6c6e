// The samplers of Days 5 and 6 over one real distribution: what is drawn is computed here, from the logits that stand in the page.
const coursePlayground = (function () {
  "use strict";
  const TOP_K = [0, 1, 2, 3, 5, 10, 20, 50, 100, 200, 1000], SHOWN = 12;

  // Tokens of one logit together, highest first: each leading token by itself, the others in steps of data.tail.step.
  function groups(data) {
    const leading = data.leading.map(([name, logit]) => ({ name, logit, count: 1 }));
    const tail = data.tail.counts.map((count, i) => ({ logit: (data.tail.first - i) * data.tail.step, count }));
    return [...leading, ...tail.filter((group) => group.count)].sort((a, b) => b.logit - a.logit);
  }

  // temperature, then min-p, top-k and top-p, each on the renormalised result of the one before; 0, 0 and 1 switch the filters off.
  // -> of each group the probability of one of its tokens before the filters and after them, and how many of its tokens are kept.
  function distribution(all, { temperature, minP, topK, topP }) {
    const sum = (weight) => all.reduce((total, group, i) => total + weight(group, i), 0);
    let probs = all.map((group, i) => temperature > 0 ? Math.exp((group.logit - all[0].logit) / temperature) : i === 0 ? 1 : 0);
    let kept = all.map((group, i) => temperature > 0 ? group.count : i === 0 ? 1 : 0);
    function renormalise() {
      const mass = sum((group, i) => kept[i] * probs[i]);
      probs = probs.map((p, i) => kept[i] ? p / mass : 0);
    }
    renormalise();
    const before = probs;
    if (minP > 0) {
      const threshold = minP * probs[0];
      kept = kept.map((n, i) => probs[i] >= threshold ? n : 0);
      renormalise();
    }
    if (topK > 0) {
      let better = 0, threshold = 0;
      for (let i = 0; i < all.length && better < topK; i++) { better += kept[i]; if (kept[i]) threshold = probs[i]; }
      kept = kept.map((n, i) => probs[i] >= threshold ? n : 0);  // who is equal to the k-th stays
      renormalise();
    }
    if (topP < 1) {
      let mass = 0;
      kept = kept.map((n, i) => {
        const room = n === 1 ? Number(mass < topP) : probs[i] > 0 ? Math.ceil((topP - mass) / probs[i]) : 0;
        mass += n * probs[i];
        return Math.min(n, Math.max(room, 0));
      });
      renormalise();
    }
    return all.map((group, i) => ({ ...group, before: before[i], after: probs[i], kept: kept[i] }));
  }

  function measures(rows) {
    const sum = (weight) => rows.reduce((total, row) => total + (row.kept ? weight(row) : 0), 0);
    return {
      kept: sum((row) => row.kept),
      mass: sum((row) => row.kept * row.before),
      entropy: Math.abs(sum((row) => -row.kept * row.after * Math.log(row.after))),
    };
  }

  const escaped = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const percent = (x, digits) => (100 * x).toFixed(digits) + " %";

  // The rows of the table and the sentence below the sliders.
  function shown(data, settings) {
    const rows = distribution(groups(data), settings), { kept, mass, entropy } = measures(rows);
    const leading = rows.filter((row) => row.name !== undefined).slice(0, SHOWN), widest = Math.max(...rows.map((row) => row.after));
    const lines = leading.map((row) => {
      const bar = `<div class="bar" style="width:${(100 * row.after / widest).toFixed(1)}%"></div>`;
      const number = row.kept ? percent(row.after, 2) : `cut (was ${percent(row.before, 2)})`;
      return `<tr><th scope="row"><code>${escaped(row.name)}</code></th><td>${row.kept ? bar : ""}</td><td>${number}</td></tr>`;
    });
    const others = kept - leading.reduce((total, row) => total + row.kept, 0);
    const rest = 1 - leading.reduce((total, row) => total + row.after, 0);
    const last = others ? `${others.toLocaleString("en")} more, together ${percent(rest, 2)}` : "no other token is left";
    const tokens = kept === 1 ? "1 token is left" : `${kept.toLocaleString("en")} of ${data.vocabulary.toLocaleString("en")} tokens are left`;
    const words = `${tokens}; before the cut, ${percent(mass, 1)} of the probability was theirs. Entropy ${entropy.toFixed(2)} nats: ` +
      `as undecided as ${Math.exp(entropy).toFixed(1)} equally likely tokens.`;
    return { rows: lines.join("\n"), words, rest: last };
  }

  function start(root, data) {
    const part = (name) => root.querySelector(`[data-part='${name}']`);
    const sliders = ["temperature", "min-p", "top-k", "top-p"].map(part);
    function draw() {
      const [temperature, minP, k, topP] = sliders.map((slider) => Number(slider.value)), topK = TOP_K[k];
      const values = [temperature.toFixed(2), minP > 0 ? minP.toFixed(2) : "off", topK || "off", topP < 1 ? topP.toFixed(2) : "off"];
      sliders.forEach((slider, i) => {
        slider.parentElement.querySelector("output").textContent = values[i];
        slider.setAttribute("aria-valuetext", values[i]);
      });
      const now = shown(data, { temperature, minP, topK, topP });
      part("rows").innerHTML = now.rows;
      part("words").textContent = now.words;
      part("rest").textContent = now.rest;
    }
    root.addEventListener("input", draw);
    part("reset").addEventListener("click", () => {
      sliders.forEach((slider) => { slider.value = slider.defaultValue; });
      draw();
    });
    draw();
  }

  return { groups, distribution, measures, shown, start };
})();
