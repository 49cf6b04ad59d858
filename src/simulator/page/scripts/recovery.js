// Disaster readiness: for each protection its readiness, lanes of the last day, and the phases of what runs.
import { protectionActions } from './actions.js';
import { button, byId, chip, el, menuButton, mono, on, tag } from './base/elements.js';
import { openRequest } from './request/try.js';
import { lanesOf, operationNode, operationsOf } from './lanes.js';
import { drawOn, now, rowsOf, tables } from './base/state.js';
import { act } from './base/sync.js';
import { windowedList } from './base/windowed.js';
import { chipFor, count, readinessOf, span } from './base/words.js';

let showProtections;

export function prepareRecovery() {
  showProtections = windowedList('protection-box', 240);
  drawOn(['configurations', 'time', 'world'], drawRecovery);
  on('new-protection', 'click', () => openRequest('POST /disaster-readiness/configure'));
}

function drawRecovery() {
  const isBusy = ({ busy }) => Number(busy !== undefined);
  const all = rowsOf('configurations').sort((a, b) => isBusy(b) - isBusy(a) || a.createdAt - b.createdAt);
  byId('n-recovery').textContent = all.length.toLocaleString('en');
  const rows = all.map((row) => ({ key: row.id, show: () => protectionRow(row) }));
  showProtections(rows, 'No protections. Make one; its snapshots, checks and activations appear here.');
}

function protectionRow(row) {
  return {
    sig: JSON.stringify([row, Math.round(now() / 1000)]),
    make: () => protectionNode(row),
    update: (node) => node.show(row),
  };
}

const tellings = {
  'Next check passes': { nextValidation: 'pass' },
  'Next check fails': { nextValidation: 'fail' },
  'Next check: clean-up unverifiable': { nextValidation: 'cleanupUnverifiable' },
  'Standby: standard': { standby: { shape: 'standard' } },
  'Standby: seedBoost': { standby: { shape: 'seedBoost' } },
  'Standby: sustained': { standby: { shape: 'sustained' } },
  'Standby falls behind': { standby: { caughtUp: false } },
  'Standby has caught up': { standby: { caughtUp: true } },
  'Readiness: needsAttention': { readiness: { state: 'needsAttention', reason: 'told' } },
  'Readiness: failed': { readiness: { state: 'failed', reason: 'told' } },
  'Readiness from evidence again': { readiness: null },
  'Phase: promoting': { setPhase: 'promoting' },
  'Phase: starting': { setPhase: 'starting' },
  'Phase: promoted': { setPhase: 'promoted' },
  'Phase: handingOver': { setPhase: 'handingOver' },
  'Phase: succeeded': { setPhase: 'succeeded' },
  'Phase: failed': { setPhase: 'failed' },
  'No failing steps any more': { failSteps: 0 },
};

function protectionNode(first) {
  let row = first;
  const name = `${first.appName} ${first.envName}`;
  const path = `/configurations/${encodeURIComponent(row.id)}`;
  const tell = (done, body) => act(done, 'PATCH', path, body);
  const more = el(
    'select',
    { 'aria-label': `Tell ${first.envName} more`, 'data-act': 'more' },
    ...Object.keys(tellings).map((text) => el('option', text)),
  );
  const holding = button('', 'hold', () =>
    tell(row.hold ? 'Progress goes on' : 'Progress is held', { hold: !row.hold }),
  );
  const next = button('Next phase', 'next', () => tell(stepped(row), { nextPhase: true }));
  const [head, lanes, operations] = [el('div'), el('div.lanes'), el('div')];
  const article = el(
    'article.protection.part',
    { 'aria-label': `Protection of ${name}`, 'data-key': first.id },
    el(
      'div.top',
      head,
      menuButton(`the protection of ${name}`, () => protectionActions(row)),
    ),
    lanes,
    operations,
    el(
      'div.drive',
      { role: 'group', 'aria-label': `Drive the protection of ${first.envName}` },
      next,
      button('Fail a step', 'fail', () => tell('One more step will fail', { failSteps: row.failSteps + 1 })),
      holding,
      button('Snapshot', 'snapshot', () => act('A snapshot was taken', 'POST', `${path}/points`, {})),
      more,
      button('Tell', 'tell', () => tell(`Told: ${more.value}`, tellings[more.value])),
    ),
  );
  const node = el('li', article);
  node.show = (changed) => {
    row = changed;
    head.replaceChildren(...headOf(row));
    lanes.replaceChildren(...lanesOf(row));
    operations.replaceChildren(...operationsOf(row).map((operation) => operationNode(row, operation)));
    holding.textContent = row.hold ? 'Release' : 'Hold';
    next.disabled = row.busy === undefined && document.activeElement !== next;
  };
  return node;
}

/** The result of one step of the operation under way: it may have failed. */
function stepped(before) {
  const operationOf = (row) => row?.operations.find(({ operationId }) => operationId === before.busy);
  const failed = operationOf(before)?.failedSteps ?? 0;
  return () => {
    const operation = operationOf(tables.configurations.get(before.id));
    if (operation === undefined) return 'One step done';
    return operation.failedSteps > failed ? 'One step failed' : `One step done: ${operation.phase}`;
  };
}

function headOf(row) {
  const { state, reason, warnings } = row.readiness;
  const parts = [
    el('h3.any', `${row.appName} / ${row.envName}`),
    el('span.muted', `${row.region} to ${row.destination}`),
    tag(row.mode),
    chipFor(readinessOf, state),
    reason && el('span.small', reason),
    ...warnings.map((warning) => chip('warn', 'alert', warning)),
    row.hold && chip('warn', 'pause', 'held'),
    row.fenced && chip('warn', 'pause', 'reset pending'),
    ...standbyOf(row.standby),
    mono(row.id),
  ];
  return [el('div.line', ...parts), el('div.small.muted.any', factsOf(row).join(', '))];
}

function standbyOf(standby) {
  if (!standby) return [];
  const words = `standby ${standby.shape}${standby.reason ? ` (${standby.reason})` : ''}`;
  const waiting = standby.firstCopyDone ? `${count(standby.waiting, 'change')} waiting` : 'first copy';
  return [
    chip(standby.caughtUp ? 'ok' : 'warn', standby.caughtUp ? 'check' : 'half', words),
    el('span.small.muted', waiting),
  ];
}

function factsOf(row) {
  const { recoveryPointAgeMs: age } = row.readiness;
  const facts = [
    `generation ${row.generation}`,
    `snapshot every ${span(row.snapshotIntervalMs)}`,
    `check every ${span(row.validationIntervalMs)}`,
    count(row.pointsTaken, 'snapshot'),
    age !== undefined && `newest usable ${span(age)} old (target ${span(row.rpoTargetMs)})`,
    row.failSteps > 0 && `next ${count(row.failSteps, 'step')} will fail`,
    row.nextValidation && `next check: ${row.nextValidation}`,
    row.recovered && `recovered as ${row.recovered}`,
  ];
  return facts.filter(Boolean);
}
