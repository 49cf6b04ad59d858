// Draws the ledger and the request log, with the newest lines first.
import { byId, chip, el, mono, on, tag } from './base/elements.js';
import { drawOn, logs, tables } from './base/state.js';
import { windowedList } from './base/windowed.js';
import { dayAndTime, listed } from './base/words.js';

const showRequests = windowedList('request-box', 30);
const showLedger = windowedList('ledger-box', 48);

export function prepareLogs() {
  drawOn(['requests', 'ledger', 'world'], drawLogs);
  for (const id of ['only-faults', 'hold-logs']) on(id, 'change', drawLogs);
}

function drawLogs() {
  if (byId('hold-logs').checked) return;
  const only = byId('only-faults').checked;
  const { requests, ledger } = logs;
  byId('n-requests').textContent = requests.last.toLocaleString('en');
  byId('n-ledger').textContent = ledger.last.toLocaleString('en');
  const rows = (items, make) => items.toReversed().map((item) => ({ key: String(item.seq), from: () => [item], make }));
  const none = only ? 'No request has met a fault.' : 'Nobody has asked for anything yet.';
  showRequests(rows(only ? requests.items.filter(({ fault }) => fault) : requests.items, requestNode), none);
  showLedger(rows(ledger.items, ledgerNode), 'Nothing has been committed yet.');
}

export function statusChip(status) {
  if (status === 0) return chip('bad', 'cross', 'no answer');
  if (status < 300) return chip('ok', 'check', String(status));
  return status < 500 ? chip('warn', 'alert', String(status)) : chip('bad', 'cross', String(status));
}

function requestNode({ at, method, path, query, status, durationMs, committed, fault, unknownFields = [] }) {
  const asked = Object.keys(query).length === 0 ? '' : `?${new URLSearchParams(query)}`;
  const struck = fault && chip('warn', 'bolt', `fault: ${fault}`);
  const unknown = unknownFields.length > 0 && tag(`unknown: ${unknownFields.join(', ')}`);
  return el(
    'li',
    { class: `req${fault ? ' fault' : ''} fresh` },
    el('time.mono.muted', { datetime: at }, at.slice(11, 19)),
    el('span.mono', method),
    el('span.mono.any.path', path, el('span.muted', asked)),
    el('span.struck', struck, unknown),
    el('span.num', statusChip(status)),
    el('span.did', committed && tag('committed')),
    el('span.muted.num.ms', `${Math.round(durationMs)} ms`),
  );
}

function factOf(name, value) {
  if (typeof value === 'number' && name.endsWith('At')) return dayAndTime(value);
  if (typeof value !== 'string') return JSON.stringify(value);
  return value.length > 24 ? `${value.slice(0, 24)}…` : value;
}

/** Returns the cause of a line of the ledger: a request with its token, a control request (/_sim), or a timer. */
function causeOf({ requestSeq, token, membershipId, control }) {
  if (requestSeq !== null) {
    const by = tables.memberships.get(membershipId)?.token ?? `${token}…`;
    return `by ${by} in request ${requestSeq}`;
  }
  return control ? 'by control' : 'by itself';
}

export function ledgerNode(line) {
  const { at, kind, id, accountId, detail } = line;
  const facts = listed(...Object.entries(detail).map(([name, value]) => `${name} ${factOf(name, value)}`));
  const cause = el('span.cause.muted', `${causeOf(line)} in ${accountId}`);
  const about = el(
    'div.any',
    el('b', kind),
    ' ',
    mono(id),
    ' ',
    cause,
    facts !== '' && el('div.small.muted.any', facts),
  );
  return el('li.led.fresh', el('time.mono.muted', { datetime: at }, at.slice(11, 19)), about);
}
