// Sends a request as a client would, and shows the answer, the new lines of the ledger and the changes of the world.
import { byId, chip, el, mono, say } from '../base/elements.js';
import { ledgerNode, statusChip } from '../logs.js';
import { called, logs, tables } from '../base/state.js';
import { sync } from '../base/sync.js';
import { count, indented } from '../base/words.js';

const longestShown = 20_000;
let waiting;

export function nothingSentYet() {
  const text = 'The answer, its lines in the ledger and what changed in the world appear here.';
  byId('t-answer').replaceChildren(el('p.muted', text));
}

/** Sends a request and shows its results. If an earlier request still waits for its answer, cancels that one instead. */
export async function sendAndShow(request) {
  if (waiting !== undefined) {
    waiting.abort();
    return;
  }
  waiting = new AbortController();
  const label = byId('t-send').textContent;
  try {
    await sync();
    const before = { ledger: logs.ledger.last, requests: logs.requests.last, world: worldNow() };
    const slow = setTimeout(() => showWaiting(request), 400);
    const answer = await answerTo(request, waiting.signal);
    clearTimeout(slow);
    await sync();
    showAnswer(request, answer, before);
  } catch (error) {
    say(`Not sent: ${error.message}`);
  } finally {
    waiting = undefined;
    byId('t-send').textContent = label;
  }
}

function showWaiting({ method, url }) {
  byId('t-send').textContent = 'Give up';
  byId('t-answer').replaceChildren(el('p.line', chip('info', 'half', 'waiting'), el('code.any', `${method} ${url}`)));
}

async function answerTo({ method, url, headers, text }, signal) {
  const from = performance.now();
  const ms = () => Math.round(performance.now() - from);
  const settings = { method, headers, signal, redirect: 'manual', cache: 'no-store' };
  let response;
  try {
    response = await fetch(url, text === '' ? settings : { ...settings, body: text });
    const body = await response.text();
    return { status: response.status, body, ms: ms(), retryAfter: response.headers.get('retry-after') };
  } catch (error) {
    const what = signal.aborted ? 'You gave up waiting.' : `The connection broke: ${error.message}`;
    return { status: response?.status ?? 0, what, ms: ms() };
  }
}

const worldNow = () => new Map(Object.entries(tables).map(([name, table]) => [name, new Map(table)]));

function showAnswer(request, answer, before) {
  const logged = request.isControl ? undefined : loggedOf(request, before.requests);
  const lines = linesOf(request, logged, before.ledger);
  const elsewhere = logs.ledger.items.filter((line) => line.seq > before.ledger && !lines.includes(line));
  const others = new Set(elsewhere.map(({ id }) => id));
  const changes = changesSince(before.world).filter(({ id }) => !others.has(id));
  const status = answer.status || logged?.status || 0;
  const about = el(
    'p.line',
    statusChip(status),
    el('code.any', `${request.method} ${request.url.replace(/^\/api\/public\/v1|\?.*$/g, '')}`),
    el('span.muted.num', `${answer.ms} ms`),
    logged && el('span.muted', `request ${logged.seq}`),
    logged?.fault && chip('warn', 'bolt', `fault: ${logged.fault}`),
    answer.retryAfter && el('span.muted', `retry-after ${answer.retryAfter}`),
  );
  const body = answer.what ? el('p', answer.what) : bodyNode(answer.body);
  const committed = lines.slice(-20).map(ledgerNode);
  const changed = changes.slice(0, 40).map(changeNode);
  byId('t-answer').replaceChildren(
    about,
    body,
    el('h3', 'In the ledger'),
    lines.length > 0 ? el('ol.lines', ...committed) : el('p.muted', 'Nothing was committed.'),
    el('h3', 'What changed in the world'),
    changes.length > 0 ? el('ul.changes', ...changed) : el('p.muted', 'Nothing that the page shows.'),
  );
  say(`${status || 'No answer'}: ${count(lines.length, 'line')} in the ledger, ${count(changes.length, 'change')}`);
  byId('t-answer').scrollIntoView({ block: 'nearest' });
}

/** Finds the line of the request log for a request that the page sent: the first later line with the same method, path and query. */
function loggedOf({ method, url }, after) {
  const asked = (line) => `/api/public/v1${line.path}?${new URLSearchParams(line.query)}`;
  const { pathname, searchParams } = new URL(url, location.origin);
  const own = `${pathname}?${searchParams}`;
  return logs.requests.items.find((line) => line.seq > after && line.method === method && asked(line) === own);
}

function linesOf({ isControl }, logged, after) {
  const since = logs.ledger.items.filter(({ seq }) => seq > after);
  if (isControl) return since.filter(({ requestSeq }) => requestSeq === null);
  return logged === undefined ? [] : since.filter(({ requestSeq }) => requestSeq === logged.seq);
}

function bodyNode(body) {
  if (body === '') return el('p.muted', 'An empty body.');
  const text = indented(body, 2);
  const more = text.length - longestShown;
  const shown = more > 0 ? `${text.slice(0, longestShown)}\n… ${more} more characters` : text;
  return el('pre', { tabindex: '0', 'aria-label': 'Body of the answer' }, shown);
}

const verbs = { added: ['ok', 'plus', 'new'], removed: ['bad', 'cross', 'gone'], changed: ['info', 'half', 'changed'] };

function changeNode({ verb, what, id, name, fields }) {
  const named = name && el('span.any', `${name} `);
  const differing = fields.length > 0 && el('div.small.any', ...fields.map((field) => el('div', field)));
  return el('li', chip(...verbs[verb]), ' ', el('b', what), ' ', named, mono(id), differing);
}

const nameOfRow = (row) => row.name ?? row.envName ?? row.cliEnvName ?? row.token;

/** Lists every row that was added, removed or changed since a request, with the fields that changed. */
function changesSince(before) {
  return Object.entries(called).flatMap(([name, what]) => {
    const [old, now] = [before.get(name), tables[name]];
    const ids = new Set([...[...old.keys()].filter((id) => !now.has(id)), ...now.keys()]);
    return Array.from(ids, (id) => {
      const [from, to] = [old.get(id), now.get(id)];
      const verb = to === undefined ? 'removed' : from === undefined ? 'added' : 'changed';
      const fields = from && to && from !== to ? differences(from, to) : [];
      return { verb, what, id, name: nameOfRow(to ?? from), fields };
    }).filter(({ verb, fields }) => verb !== 'changed' || fields.length > 0);
  });
}

/** Fields that change when time passes; the page does not show their differences. */
const passing = new Set(['updatedAt', 'recoveryPointAgeMs']);

function differences(old, now, under = '') {
  const names = [...new Set([...Object.keys(old), ...Object.keys(now)])].filter((name) => !passing.has(name));
  return names.flatMap((name) => {
    const [from, to] = [old[name], now[name]];
    if (JSON.stringify(from) === JSON.stringify(to)) return [];
    if (isPlain(from) && isPlain(to)) return differences(from, to, `${under}${name}.`);
    return [`${under}${name}: ${short(from)} → ${short(to)}`];
  });
}

const isPlain = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

function short(value) {
  if (value === undefined) return 'nothing';
  if (Array.isArray(value) && value.some(isPlain)) return `${value.length} items`;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > 70 ? `${text.slice(0, 70)}…` : text;
}
