// Talks to the simulator: sends control requests, and reads the world, the ledger and the request log when something has changed.
import { byId, chip, say } from './elements.js';
import { logs, redraw, tables, takeIn, view } from './state.js';

/** Sends a request to the control API (/_sim); if the request is refused, throws an error with the message of the refusal. */
export async function ask(method, path, body) {
  const settings = body === undefined ? {} : { body: JSON.stringify(body) };
  const answer = await fetch(`/_sim${path}`, { method, ...settings });
  const text = await answer.text();
  const value = text === '' ? {} : JSON.parse(text);
  if (answer.ok) return value;
  throw new Error(value.error ?? `it answered ${answer.status}`);
}

/**
 * Sends a control request, reads the world again and shows the message `done`. `done` is a text, or a function that makes the text
 * afterwards. `body` may be a function too; an error of this function is shown.
 */
export async function act(done, method, path, body) {
  try {
    await ask(method, path, typeof body === 'function' ? body() : body);
    if (typeof done === 'string') say(done);
    await sync();
    if (typeof done === 'function') say(done());
  } catch (error) {
    say(`Not done: ${error.message}`);
  }
}

let running = Promise.resolve();
let planned;

/** Updates the rows and logs of the page. One update runs at a time; all calls during an update share the next one. */
export function sync() {
  planned ??= running.then(() => {
    running = planned.catch(() => undefined);
    planned = undefined;
    return syncOnce();
  });
  return planned;
}

/** Reads the whole world at first and after another world was loaded; otherwise reads only the changes. */
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

/** Reads the new lines of a log, up to the number of lines that the page shows. */
async function readLog(name, last, isOther) {
  const log = logs[name];
  if (isOther) Object.assign(log, { items: [], last: 0 });
  if (last <= log.last) return;
  const { items } = await ask('GET', `/${name}?after=${Math.max(log.last, last - log.longest)}`);
  log.last = items.at(-1)?.seq ?? last;
  log.items = [...log.items, ...items].slice(-log.longest);
  redraw(name);
  if (name === 'requests' || isOther) return;
  const fired = items.filter(({ kind, detail }) => kind === 'alert.stateChanged' && detail.to === 'Firing');
  if (fired.length > 2) say(`${fired.length} alerts are firing`);
  else if (fired.length > 0) say(`Firing: ${fired.map(({ id }) => tables.alerts.get(id)?.name ?? id).join(', ')}`);
}

let stream;

/** Follows the stream of events, and reconnects when the stream breaks. */
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

/** Reads the world again a little later. Several calls before that cause only one read. */
export function soon() {
  timer ??= setTimeout(() => {
    timer = undefined;
    sync().catch(() => undefined);
  }, 200);
}
