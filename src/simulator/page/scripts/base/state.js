// Holds the state of the page: the rows of the world, the ledger and the request log, and what must be drawn again.

/** The collections that the page shows, each with a word for one of its rows. */
export const called = {
  accounts: 'account',
  tokens: 'token',
  memberships: 'membership',
  credentials: 'credential',
  regions: 'region',
  apps: 'app',
  environments: 'environment',
  contactPoints: 'contact point',
  alerts: 'alert',
  metrics: 'metric',
  configurations: 'protection',
  faults: 'fault',
};
const names = Object.keys(called);

export const tables = Object.fromEntries(names.map((name) => [name, new Map()]));
export const rowsOf = (name) => [...tables[name].values()];
export const groups = (name, field) => Map.groupBy(tables[name].values(), (row) => row[field]);

export const logs = {
  ledger: { items: [], last: 0, longest: 3000 },
  requests: { items: [], last: 0, longest: 1000 },
};

/** Lists the ledger lines about one object whose kind ends with `ending`, oldest first. Timelines are drawn from these lines. */
export const linesAbout = (id, ending) =>
  logs.ledger.items
    .filter((line) => line.kind.endsWith(ending) && (line.id === id || line.detail.configurationId === id))
    .map(({ at, detail }) => ({ ...detail, at: Date.parse(at) }));

export let view = { epoch: '', revision: 0, now: 0, mode: 'real', readings: {} };
let seenAt = 0;
export const now = () => (view.mode === 'real' ? view.now + (Date.now() - seenAt) : view.now);

/** Updates the state of the page from an answer of /_sim/view; returns the names of the collections that changed. */
export function takeIn(next) {
  view = { ...next, rows: undefined, removed: undefined };
  seenAt = Date.now();
  if (next.complete) for (const table of Object.values(tables)) table.clear();
  for (const [name, rows] of Object.entries(next.rows)) for (const row of rows) tables[name].set(row.id, row);
  for (const [name, ids] of Object.entries(next.removed)) for (const id of ids) tables[name].delete(id);
  return next.complete ? names : Object.keys(next.rows);
}

const parts = [];
const stale = new Set();
let drawing;

/** Registers a function that draws a part of the page again when one of the named things has changed. */
export function drawOn(names, draw) {
  parts.push({ names, draw });
}

/** Notes what changed, and draws all noted changes together a little later; while the page is hidden, drawing waits. */
export function redraw(...names) {
  for (const name of names) stale.add(name);
  if (!document.hidden) drawing ??= setTimeout(drawNow, 120);
}

function drawNow() {
  drawing = undefined;
  const due = parts.filter(({ names }) => names.some((name) => stale.has(name)));
  stale.clear();
  for (const { draw } of due) draw();
}
