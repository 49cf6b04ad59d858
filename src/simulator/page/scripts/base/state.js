// The state of the page: the tables of the world, the logs, and the view they came with.

/** The collections of the world, and how one row of each is called. */
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

export const logs = {
  ledger: { items: [], last: 0, longest: 3000 },
  requests: { items: [], last: 0, longest: 1000 },
};

/** Changes of alerts, operations and standbys from the ledger: the strips and lanes are drawn from them. */
export const states = new Map();
export const phases = new Map();
export const applied = new Map();

export let view = { epoch: '', revision: 0, now: 0, mode: 'real', readings: {} };
let seenAt = 0;
export const now = () => (view.mode === 'real' ? view.now + (Date.now() - seenAt) : view.now);

/** Takes an answer of /_sim/view in; returns the collections that it touched. */
export function takeIn(next) {
  view = { ...next, rows: undefined, removed: undefined };
  seenAt = Date.now();
  if (next.complete) for (const table of Object.values(tables)) table.clear();
  const touched = new Set(next.complete ? names : []);
  for (const [name, rows] of Object.entries(next.rows)) {
    for (const row of rows) tables[name].set(row.id, row);
    touched.add(name);
  }
  for (const [name, ids] of Object.entries(next.removed)) {
    for (const id of ids) tables[name].delete(id);
    if (ids.length > 0) touched.add(name);
  }
  return touched;
}

export const groups = (name, field) => Map.groupBy(tables[name].values(), (row) => row[field]);

/** Remembers a ledger line about an alert, an operation or a standby. */
export function note({ at: when, kind, id, detail }) {
  const at = Date.parse(when);
  if (kind === 'alert.stateChanged') remember(states, id, { at, from: detail.from, to: detail.to }, 40);
  else if (kind === 'standby.applied') remember(applied, detail.configurationId, { at, shape: detail.shape }, 80);
  else if (/^(enrollment|validation|activation)\./.test(kind) && !kind.endsWith('.stepFailed')) {
    const phase = detail.phase ?? { accepted: 'queued', requested: 'queued', started: 'queued' }[kind.split('.')[1]];
    if (phase !== undefined) remember(phases, id, { at, phase }, 20);
  }
}

export function forget() {
  for (const map of [states, phases, applied]) map.clear();
}

function remember(map, key, entry, most) {
  const list = map.get(key) ?? [];
  map.delete(key);
  map.set(key, [...list, entry].slice(-most));
  if (map.size > 6000) map.delete(map.keys().next().value);
}
