// Talks to the simulator: reads the world again when something happened, and follows its two logs.
import { byId, chip, say } from './elements.js';
import { redraw } from './schedule.js';
import { forget, logs, note, tables, takeIn, view } from './state.js';

/** Asks the control surface; throws what it says when it refuses. */
export async function ask(method, path, body) {
  const settings = body === undefined ? {} : { body: JSON.stringify(body) };
  const answer = await fetch(`/_sim${path}`, { method, ...settings });
  const text = await answer.text();
  const value = text === '' ? {} : JSON.parse(text);
  if (answer.ok) return value;
  throw Object.assign(new Error(value.error ?? `it answered ${answer.status}`), { first: value.first });
}

/** Sends a control request and shows the result: a text, or one made after the world was read again. */
export async function act(done, method, path, body) {
  try {
    await ask(method, path, body);
    if (typeof done === 'string') say(done);
    await sync();
    if (typeof done === 'function') say(done());
  } catch (error) {
    say(`Not done: ${error.message}`);
  }
}

let syncing;
let again = false;

/** Updates the tables: everything at first and for another world, otherwise only changes. One update at a time. */
export function sync() {
  if (syncing) {
    again = true;
    return syncing;
  }
  syncing = (async () => {
    try {
      do {
        again = false;
        await syncOnce();
      } while (again);
    } finally {
      syncing = undefined;
    }
  })();
  return syncing;
}

async function syncOnce() {
  const watch = [...byId('protections').querySelectorAll('article')].map((node) => node.dataset.key).join(',');
  const query =
    view.epoch === '' ? '' : `?epoch=${view.epoch}&after=${view.revision}&watch=${encodeURIComponent(watch)}`;
  const next = await ask('GET', `/view${query}`);
  const isOther = next.epoch !== view.epoch;
  const moved = next.now !== view.now;
  const readings = JSON.stringify(next.readings) === JSON.stringify(view.readings) ? [] : ['readings'];
  const touched = takeIn(next);
  if (isOther) await readLogsAgain(next);
  else await Promise.all([catchUpWith('ledger', next.ledgerSeq), catchUpWith('requests', next.requestSeq)]);
  redraw(...touched, ...readings, ...(moved ? ['time'] : []), ...(isOther ? ['readings', 'world'] : []));
}

let caughtUp = false;

async function readLogsAgain(next) {
  caughtUp = false;
  forget();
  for (const [name, last] of Object.entries({ ledger: next.ledgerSeq, requests: next.requestSeq })) {
    const log = logs[name];
    log.items = [];
    log.last = Math.max(0, last - log.longest);
    await readMissing(name);
    redraw(name);
  }
  caughtUp = true;
}

async function catchUpWith(name, last) {
  if (last > logs[name].last) await readMissing(name);
}

const reading = {};

/** Reads the events that the stream missed before it was open or while it was broken. */
function readMissing(name) {
  reading[name] ??= linesOfLog(name).finally(() => (reading[name] = undefined));
  return reading[name];
}

async function linesOfLog(name) {
  const log = logs[name];
  try {
    const { items } = await ask('GET', `/${name}?after=${log.last}`);
    for (const item of items.slice(-log.longest)) keep(name, item);
  } catch (error) {
    // The simulator has dropped older lines, so go on with the oldest that it has.
    if (error.first === undefined || error.first - 1 <= log.last) throw error;
    log.last = error.first - 1;
    await linesOfLog(name);
  }
}

function keep(name, item) {
  const log = logs[name];
  if (item.seq <= log.last) return;
  log.last = item.seq;
  log.items.push(item);
  if (log.items.length > log.longest * 1.2) log.items.splice(0, log.items.length - log.longest);
  if (name === 'ledger') {
    note(item);
    if (caughtUp && item.kind === 'alert.stateChanged' && item.detail.to === 'Firing') fires(item.id);
  }
  redraw(name);
}

const firing = new Set();

function fires(id) {
  if (firing.size === 0) {
    setTimeout(() => {
      const names = [...firing].map((each) => tables.alerts.get(each)?.name ?? each);
      say(names.length > 2 ? `${names.length} alerts are firing` : `Firing: ${names.join(', ')}`);
      firing.clear();
    }, 300);
  }
  firing.add(id);
}

let stream;

/** Follows the stream of events; it comes back by itself when it breaks. */
export function follow() {
  stream = new EventSource('/_sim/events');
  stream.addEventListener('open', () => {
    live(true);
    soon();
  });
  stream.addEventListener('error', () => {
    live(false);
    if (stream.readyState === EventSource.CLOSED) setTimeout(follow, 2000);
  });
  for (const [event, name] of Object.entries({ ledger: 'ledger', request: 'requests' })) {
    stream.addEventListener(event, ({ data }) => {
      if (!caughtUp) return;
      const item = JSON.parse(data);
      if (item.seq === logs[name].last + 1) keep(name, item);
      if (name === 'ledger' || item.committed || item.fault || item.seq > logs[name].last) soon();
    });
  }
}

export function live(is) {
  byId('live').replaceChildren(is ? chip('ok', 'dot', 'Live') : chip('warn', 'half', 'Reconnecting'));
}

let planned;

/** Reads the world again a little later, once for all that happens until then. */
export function soon() {
  planned ??= setTimeout(() => {
    planned = undefined;
    sync().catch(() => undefined);
  }, 200);
}
