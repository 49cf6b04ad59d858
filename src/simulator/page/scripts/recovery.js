// Shows each protection with its readiness, a timeline of the last day, and the phases of its operations.
import { protectionActions } from './actions.js';
import { button, byId, chip, el, icon, menuButton, mono, on, options, tag } from './base/elements.js';
import { openRequest } from './request/try.js';
import { drawOn, linesAbout, now, rowsOf, tables } from './base/state.js';
import { act } from './base/sync.js';
import { windowedList } from './base/windowed.js';
import { chipFor, count, dayAndTime, listed, readinessOf, span, timeOf } from './base/words.js';

const showProtections = windowedList('protection-box', 240);

export function prepareRecovery() {
  drawOn(['configurations', 'time', 'world'], drawRecovery);
  on('new-protection', 'click', () => openRequest('POST /disaster-readiness/configure'));
}

function drawRecovery() {
  const isBusy = ({ busy }) => Number(busy !== undefined);
  const all = rowsOf('configurations').sort((a, b) => isBusy(b) - isBusy(a) || a.createdAt - b.createdAt);
  byId('n-recovery').textContent = all.length.toLocaleString('en');
  const rows = all.map((row) => ({
    key: row.id,
    from: () => [row, Math.round(now() / 1000)],
    make: protectionNode,
    update: (node, changed) => node.show(changed),
  }));
  showProtections(rows, 'No protections. Make one; its snapshots, checks and activations appear here.');
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
  const [head, lanes, operations] = [el('div'), el('div.lanes'), el('div')];
  const menu = menuButton(`the protection of ${name}`, () => protectionActions(row));

  const next = button('Next phase', 'next', () => tell(stepped(row), { nextPhase: true }));
  const fail = button('Fail a step', 'fail', () => tell('One more step will fail', { failSteps: row.failSteps + 1 }));
  const toggleHold = () => tell(row.hold ? 'Progress goes on' : 'Progress is held', { hold: !row.hold });
  const holding = button('', 'hold', toggleHold);
  const takeSnapshot = () => act('A snapshot was taken', 'POST', `${path}/points`, {});
  const about = { 'aria-label': `Tell ${first.envName} more`, 'data-act': 'more' };
  const more = el('select', about, ...options(Object.keys(tellings)));
  const drive = el(
    'div.drive',
    { role: 'group', 'aria-label': `Drive the protection of ${first.envName}` },
    next,
    fail,
    holding,
    button('Snapshot', 'snapshot', takeSnapshot),
    more,
    button('Tell', 'tell', () => tell(`Told: ${more.value}`, tellings[more.value])),
  );

  const named = { 'aria-label': `Protection of ${name}`, 'data-key': first.id };
  const parts = [el('div.top', head, menu), lanes, operations, drive];
  const node = el('li', el('article.protection.part', named, ...parts));
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

/** Returns a function that tells if the step which the user started has succeeded or failed. */
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
  return [el('div.line', ...parts), el('div.small.muted.any', factsOf(row))];
}

function standbyOf(standby) {
  if (!standby) return [];
  const words = `standby ${standby.shape}${standby.reason ? ` (${standby.reason})` : ''}`;
  const waiting = standby.firstCopyDone ? `${count(standby.waiting, 'change')} waiting` : 'first copy';
  const state = standby.caughtUp ? chip('ok', 'check', words) : chip('warn', 'half', words);
  return [state, el('span.small.muted', waiting)];
}

function factsOf(row) {
  const { recoveryPointAgeMs: age } = row.readiness;
  return listed(
    `generation ${row.generation}`,
    `snapshot every ${span(row.snapshotIntervalMs)}`,
    `check every ${span(row.validationIntervalMs)}`,
    count(row.pointsTaken, 'snapshot'),
    age !== undefined && `newest usable ${span(age)} old (target ${span(row.rpoTargetMs)})`,
    row.failSteps > 0 && `next ${count(row.failSteps, 'step')} will fail`,
    row.nextValidation && `next check: ${row.nextValidation}`,
    row.recovered && `recovered as ${row.recovered}`,
  );
}

const plans = {
  enrollment: ['queued', 'preparing', 'restoring', 'validating', 'succeeded'],
  validation: ['queued', 'validating', 'cleaning', 'succeeded'],
  activation: ['queued', 'restoring', 'promoting', 'starting', 'succeeded'],
};
const operationNames = { enrollment: 'Set-up', validation: 'Check', activation: 'Activation' };
const day = 86_400_000;

function lanesOf(row) {
  const until = now();
  const from = Math.max(row.createdAt, until - day);
  const scale = { from, until, width: Math.max(1000, until - from) };
  const snapshots = row.points.map((at) => ({ at }));
  const changes = linesAbout(row.id, 'standby.applied');
  const aboutStandby = 'Changes applied by the standby; taller and wider when boosted or sustained';
  return [
    ...lane('Snapshots', ticks(scale, snapshots), `${snapshots.length} snapshots`),
    ...lane('Checks', [...spans(scale, row, 'enrollment'), ...spans(scale, row, 'validation')], 'Set-up and checks'),
    ...(row.standby || changes.length > 0 ? lane('Standby', ticks(scale, changes), aboutStandby) : []),
    ...lane('Activations', spans(scale, row, 'activation'), 'Activations'),
    el('span'),
    el('div.axis', el('span', `${dayAndTime(from)} (${span(scale.width)} ago)`), el('span', 'now')),
  ];
}

function lane(name, nodes, about) {
  return [el('span.muted', name), el('div.lane', { role: 'group', 'aria-label': about }, ...nodes)];
}

function placed(node, { from, width }, at) {
  node.style.left = `${Math.min(100, Math.max(0, ((at - from) / width) * 100))}%`;
  return node;
}

function ticks(scale, items) {
  const recent = items.filter(({ at }) => at >= scale.from);
  return recent.map(({ at, shape = '' }) =>
    placed(el('i', { class: shape, title: listed(shape, timeOf(at)) }), scale, at),
  );
}

function spans(scale, row, kind) {
  const recent = row.operations.filter((op) => op.kind === kind && (op.endedAt ?? scale.until) >= scale.from);
  return recent.map((op) => spanNode(scale, row, op));
}

function spanNode(scale, row, op) {
  const { from, until, width } = scale;
  const running = op.endedAt === undefined && op.operationId === row.busy;
  const bad = op.outcome !== undefined && op.outcome !== 'succeeded';
  const end = op.endedAt ? ` to ${timeOf(op.endedAt)}` : '';
  const text = `${operationNames[op.kind]}: ${op.outcome ?? op.phase}, from ${timeOf(op.startedAt)}${end}`;
  const [kind, glyph] = bad ? ['failed', 'cross'] : running ? ['running', 'half'] : ['', 'check'];
  const props = { class: `span ${kind}`, title: text, role: 'img', 'aria-label': text };
  const node = placed(el('span', props, icon(glyph)), scale, op.startedAt);
  const endsAt = op.endedAt ?? (running ? until : op.startedAt);
  node.style.width = `${Math.max(0, ((endsAt - Math.max(from, op.startedAt)) / width) * 100)}%`;
  if ((op.startedAt - from) / width > 0.97) Object.assign(node.style, { left: 'auto', right: '0' });
  return node;
}

/** Chooses the operations whose phases are shown: the newest activation and the running operation, else the newest of all. */
function operationsOf(row) {
  const activation = row.operations.findLast(({ kind }) => kind === 'activation');
  const busy = row.operations.find(({ operationId }) => operationId === row.busy);
  const chosen = [activation, busy].filter(Boolean);
  return [...new Set(chosen.length > 0 ? chosen : row.operations.slice(-1))];
}

function operationNode(row, op) {
  const isOver = op.endedAt !== undefined;
  const isReceiver = !isOver && op.operationId !== row.busy;
  const passed = [{ phase: 'queued', at: op.startedAt }, ...linesAbout(op.operationId, '.phase')];
  if (!isReceiver && passed.at(-1).phase !== op.phase) passed.push({ phase: op.phase, at: op.endedAt });
  const last = passed.pop();
  const steps = [
    ...passed.map(({ phase, at }) => stepNode({ class: 'done' }, 'check', phase, at)),
    lastStep(op, last, isOver, isReceiver),
    isReceiver && el('li.good', icon('check'), 'receives changes'),
    op.failedSteps > 0 && el('li.bad', icon('alert'), count(op.failedSteps, 'failed step')),
    ...(isOver || isReceiver ? [] : phasesLeft(row, op).map((phase) => el('li', icon('ring'), phase))),
  ];
  const name = `${operationNames[op.kind]}${op.target ? ` to ${op.target}` : ''}`;
  const list = el('ol.steps', { 'aria-label': `Phases of the ${op.kind}` }, ...steps);
  return el('div.op', el('span.what.muted.any', name), list);
}

function phasesLeft({ mode }, { kind, phase: now }) {
  const restores = (kind === 'enrollment') === (mode === 'warm');
  const planned = plans[kind].filter((phase) => phase !== 'restoring' || restores);
  return planned.slice(planned.indexOf(now) + 1);
}

function lastStep({ outcome, failedSteps }, { phase, at }, isOver, isReceiver) {
  const words = isOver && outcome !== phase ? `${phase}, ${outcome}` : phase;
  const current = isOver ? {} : { 'aria-current': 'step' };
  const isBad = outcome === undefined ? failedSteps > 0 : outcome !== 'succeeded';
  if (isBad) return stepNode({ class: 'bad', ...current }, 'cross', words, at);
  if (isReceiver) return stepNode({ class: 'done', ...current }, 'check', words, at);
  if (isOver) return stepNode({ class: 'good' }, 'check', words, at);
  return stepNode({ class: 'now', ...current }, 'half', words, at);
}

const stepNode = (props, glyph, words, at) => el('li', props, icon(glyph), words, at && el('time', timeOf(at)));
