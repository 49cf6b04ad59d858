// Talks to the simulator: reads the world and its two logs again when something happened.
import { byId, chip, say } from './elements.js';
import { logs, redraw, tables, takeIn, view } from './state.js';

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

let running = Promise.resolve();
let planned;

/** Updates the tables and logs; one update at a time, and one more for all who ask during it. */
export function sync() {
  planned ??= running.then(() => {
    running = planned.catch(() => undefined);
    planned = undefined;
    return syncOnce();
  });
  return planned;
}

/** Reads everything at first and for another world, otherwise only changes. */
async function syncOnce() {
  const before = view;
  const watch = [...byId('protections').querySelectorAll('article')].map((node) => node.dataset.key).join(',');
  const known = `?epoch=${before.epoch}&after=${before.revision}&watch=${encodeURIComponent(watch)}`;
  const next = await ask('GET', `/view${before.epoch === '' ? '' : known}`);
  const isOther = next.epoch !== before.epoch;
  const touched = takeIn(next);
  await readLog('ledger', next.ledgerSeq, isOther);
  await readLog('requests', next.requestSeq, isOther);
  const readings = JSON.stringify(next.readings) === JSON.stringify(before.readings) ? [] : ['readings'];
  redraw(...touched, ...readings, ...(next.now === before.now ? [] : ['time']), ...(isOther ? ['world'] : []));
}

/** Reads the newest lines of a log, as many as the page shows. */
async function readLog(name, last, isOther) {
  const log = logs[name];
  if (isOther) Object.assign(log, { items: [], last: Math.max(0, last - log.longest) });
  if (last <= log.last) return;
  const linesAfter = (seq) => ask('GET', `/${name}?after=${seq}`);
  const { items } = await linesAfter(log.last).catch((error) => {
    // The simulator has dropped older lines, so go on with the oldest that it has.
    if (error.first === undefined) throw error;
    return linesAfter(error.first - 1);
  });
  log.last = items.at(-1)?.seq ?? last;
  log.items = [...log.items, ...items].slice(-log.longest);
  redraw(name);
  if (name === 'requests' || isOther) return;
  const fired = items.filter(({ kind, detail }) => kind === 'alert.stateChanged' && detail.to === 'Firing');
  if (fired.length > 2) say(`${fired.length} alerts are firing`);
  else if (fired.length > 0) say(`Firing: ${fired.map(({ id }) => tables.alerts.get(id)?.name ?? id).join(', ')}`);
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
  for (const event of ['ledger', 'request']) stream.addEventListener(event, soon);
}

export function live(is) {
  byId('live').replaceChildren(is ? chip('ok', 'dot', 'Live') : chip('warn', 'half', 'Reconnecting'));
}

let timer;

/** Reads the world again a little later, once for all that happens until then. */
export function soon() {
  timer ??= setTimeout(() => {
    timer = undefined;
    sync().catch(() => undefined);
  }, 200);
}
