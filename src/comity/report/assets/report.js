"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const all = (selector, within = document) => Array.from(within.querySelectorAll(selector));
  const section = document.getElementById("graph");
  const views = { graph: document.getElementById("graph-view"), matrix: document.getElementById("matrix-view") };
  const pressed = { graph: document.getElementById("as-graph"), matrix: document.getElementById("as-matrix") };
  const where = document.getElementById("where");
  const hint = document.getElementById("hint");
  const usual = hint.textContent;
  const buttons = Object.fromEntries(["first", "back", "forward", "last"].map((id) => [id, document.getElementById(id)]));
  const result = data.steps.length;
  document.documentElement.classList.add("scripted");

  const by = (attribute) => {
    const found = new Map();
    for (const element of all(`[data-${attribute}]`, section)) {
      const key = Number(element.dataset[attribute]);
      found.set(key, [...(found.get(key) || []), element]);
    }
    return found;
  };
  const edgesOf = by("edge");
  const clientsOf = by("client");
  const framesOf = by("coalition");
  const names = (places) => (places.length ? places.map((place) => data.clients[place]).join(", ") : "nobody");

  const left = (client) => data.steps.findIndex((each) => each.left.includes(data.coalition[client]));
  const cards = document.getElementById("cards");
  for (const link of all('a[href^="#client-"]')) link.addEventListener("click", () => { cards.open = true; });
  const home = (client) => {
    const called = data.called[data.coalition[client]];
    return called === "alone" ? called : `coalition ${called}`;
  };

  let step = result;

  // The state in a step: who remained, the wishes at that time, and the coalitions that formed up to its end.
  const shown = (number) => {
    if (number === result) {
      const remaining = new Set(data.clients.keys());
      return { remaining, asked: new Set(), edges: new Set([...data.formed, ...data.unmet]), lost: new Set(data.unmet),
        formed: new Set(data.coalition), result: true };
    }
    const { remaining, asked, edges } = data.steps[number];
    const formed = new Set(data.steps.slice(0, number + 1).flatMap((each) => each.left));
    return { remaining: new Set(remaining), asked: new Set(number ? asked : []), edges: new Set(edges), lost: new Set(),
      formed, result: false };
  };

  const show = (number) => {
    step = Math.max(0, Math.min(result, number));
    const now = shown(step);
    for (const [edge, elements] of edgesOf) {
      for (const element of elements) {
        element.classList.toggle("off", !now.edges.has(edge));
        element.classList.toggle("lost", now.lost.has(edge));
      }
    }
    for (const [client, elements] of clientsOf) {
      for (const element of elements) {
        element.classList.toggle("gone", !now.remaining.has(client));
        element.classList.toggle("asked", now.asked.has(client));
        element.classList.toggle("home", now.formed.has(data.coalition[client]));
      }
    }
    for (const [coalition, elements] of framesOf) {
      for (const element of elements) element.classList.toggle("off", !now.formed.has(coalition));
    }
    for (const item of all(".peels > li")) item.classList.toggle("now", Number(item.dataset.step) === step);
    where.textContent = now.result ? "Result" : `Peel ${step + 1} of ${result}`;
    for (const id of ["first", "back"]) buttons[id].setAttribute("aria-disabled", step === 0);
    for (const id of ["last", "forward"]) buttons[id].setAttribute("aria-disabled", step === result);
    light(null);
  };

  // Highlight the wishes and clients around the client under the pointer or with the focus.
  const light = (client) => {
    const now = shown(step);
    const near = new Set();
    const wants = [], wantedBy = [];
    if (client !== null) {
      near.add(client);
      for (const edge of now.edges) {
        const [giver, receiver] = data.edges[edge];
        if (receiver === client) { wants.push(giver); near.add(giver); }
        if (giver === client) { wantedBy.push(receiver); near.add(receiver); }
      }
    }
    for (const view of Object.values(views)) view.classList.toggle("dimmed", client !== null);
    for (const [edge, elements] of edgesOf) {
      const lit = client !== null && now.edges.has(edge) && data.edges[edge].includes(client);
      for (const element of elements) element.classList.toggle("lit", lit);
    }
    for (const [other, elements] of clientsOf) {
      for (const element of elements) element.classList.toggle("lit", near.has(other));
    }
    hint.textContent = client === null ? usual
      : !now.remaining.has(client) ? `${data.clients[client]} (${home(client)}) left in peel ${left(client) + 1}.`
      : `${data.clients[client]} (${home(client)}) wants ${names(wants)}; wanted by ${names(wantedBy)}.`;
  };

  const view = (name) => {
    for (const each of Object.keys(views)) {
      views[each].classList.toggle("hidden", each !== name);
      pressed[each].setAttribute("aria-pressed", String(each === name));
    }
  };

  buttons.first.addEventListener("click", () => show(0));
  buttons.back.addEventListener("click", () => show(step - 1));
  buttons.forward.addEventListener("click", () => show(step + 1));
  buttons.last.addEventListener("click", () => show(result));
  section.addEventListener("keydown", (event) => {
    if (event.target.closest("input, select, textarea") || event.ctrlKey || event.altKey || event.metaKey) return;
    const moves = { ArrowLeft: step - 1, ArrowRight: step + 1, Home: 0, End: result };
    if (event.key in moves) {
      const focused = document.activeElement;
      show(moves[event.key]);
      if (focused?.dataset?.client !== undefined) light(Number(focused.dataset.client));
      event.preventDefault();
    }
  });
  pressed.graph.addEventListener("click", () => view("graph"));
  pressed.matrix.addEventListener("click", () => view("matrix"));
  for (const [client, elements] of clientsOf) {
    for (const element of elements) {
      element.addEventListener("pointerenter", () => light(client));
      element.addEventListener("pointerleave", () => light(null));
      element.addEventListener("focus", () => light(client));
      element.addEventListener("blur", () => light(null));
      const open = () => { cards.open = true; document.getElementById(`client-${client}`)?.focus(); };
      element.addEventListener("click", open);
      element.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") { open(); event.preventDefault(); }
      });
    }
  }

  // Sorting the table of totals sorts the heat map as well.
  const totals = document.getElementById("totals");
  const heat = document.getElementById("heat");
  const arrange = (order) => {
    const cell = Number(heat.dataset.cell);
    const at = new Map(order.map((client, place) => [client, place]));
    const moved = (client) => at.get(Number(client)) * cell;
    for (const each of all(".warm", heat)) {
      each.setAttribute("transform", `translate(${moved(each.dataset.giver)} ${moved(each.dataset.receiver)})`);
    }
    for (const row of all(".row-name", heat)) {
      row.setAttribute("transform", `translate(0 ${moved(row.dataset.client)})`);
    }
    for (const column of all(".column-name", heat)) {
      column.setAttribute("transform", `translate(${moved(column.dataset.client)} 0)`);
    }
  };
  if (totals && heat) {
    const columns = ["name", "coalition", "given", "received"];
    const key = (row, kind) => {
      const cell = row.children[columns.indexOf(kind)];
      return kind === "name" ? cell.textContent : Number(cell.dataset.value ?? cell.textContent);
    };
    for (const button of all("button[data-by]", totals)) {
      button.addEventListener("click", () => {
        const kind = button.dataset.by;
        const header = button.closest("th");
        const down = header.getAttribute("aria-sort") !== "none"
          ? header.getAttribute("aria-sort") === "ascending" : kind === "given" || kind === "received";
        for (const each of all("th[aria-sort]", totals)) each.setAttribute("aria-sort", "none");
        header.setAttribute("aria-sort", down ? "descending" : "ascending");
        const body = totals.tBodies[0];
        const rows = Array.from(body.rows).sort((one, other) => {
          const [a, b] = [key(one, kind), key(other, kind)];
          const order = typeof a === "number" ? a - b : a.localeCompare(b);
          return (down ? -order : order) || one.dataset.client - other.dataset.client;
        });
        body.append(...rows);
        arrange(rows.map((row) => Number(row.dataset.client)));
      });
    }
  }

  const closed = [];
  window.addEventListener("beforeprint", () => {
    show(result);
    for (const each of all("details:not([open])")) { each.open = true; closed.push(each); }
  });
  window.addEventListener("afterprint", () => { while (closed.length) closed.pop().open = false; });
  show(result);
})();
