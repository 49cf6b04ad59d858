// The last day of a protection in lanes, and the phases of its operations.
import { el, icon } from './base/elements.js';
import { linesAbout, now } from './base/state.js';
import { count, dayAndTime, span, timeOf } from './base/words.js';

const plans = {
  enrollment: ['queued', 'preparing', 'restoring', 'validating', 'succeeded'],
  validation: ['queued', 'validating', 'cleaning', 'succeeded'],
  activation: ['queued', 'restoring', 'promoting', 'starting', 'succeeded'],
};
const operationNames = { enrollment: 'Set-up', validation: 'Check', activation: 'Activation' };
const day = 86_400_000;

export function lanesOf(row) {
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
  return recent.map(({ at, shape = '' }) => {
    const title = [shape, timeOf(at)].filter(Boolean).join(', ');
    return placed(el('i', { class: shape, title }), scale, at);
  });
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

/** The operations whose phases are shown: the newest activation and what is under way, else the newest of all. */
export function operationsOf(row) {
  const activation = row.operations.findLast(({ kind }) => kind === 'activation');
  const busy = row.operations.find(({ operationId }) => operationId === row.busy);
  const chosen = [activation, busy].filter(Boolean);
  return [...new Set(chosen.length > 0 ? chosen : row.operations.slice(-1))];
}

export function operationNode(row, op) {
  const isOver = op.endedAt !== undefined;
  const isReceiver = !isOver && op.operationId !== row.busy;
  const seen = phasesOf(op, isReceiver);
  const planned = plans[op.kind].filter(
    (phase) => phase !== 'restoring' || (op.kind === 'enrollment') === (row.mode === 'warm'),
  );
  const rest = isOver || isReceiver ? [] : planned.slice(planned.indexOf(op.phase) + 1);
  const steps = seen.map(({ phase, at }, n) =>
    stepNode(op, phase, at, { isLast: n === seen.length - 1, isOver, isReceiver }),
  );
  if (isReceiver) steps.push(el('li.good', icon('check'), 'receives changes'));
  if (op.failedSteps > 0) steps.push(el('li.bad', icon('alert'), count(op.failedSteps, 'failed step')));
  return el(
    'div.op',
    el('span.what.muted.any', `${operationNames[op.kind]}${op.target ? ` to ${op.target}` : ''}`),
    el(
      'ol.steps',
      { 'aria-label': `Phases of the ${op.kind}` },
      ...steps,
      ...rest.map((phase) => el('li', icon('ring'), phase)),
    ),
  );
}

function phasesOf(op, isReceiver) {
  const seen = [{ phase: 'queued', at: op.startedAt }, ...linesAbout(op.operationId, '.phase')];
  if (!isReceiver && seen.at(-1).phase !== op.phase) seen.push({ phase: op.phase, at: op.endedAt });
  return seen;
}

function stepNode(op, phase, at, { isLast, isOver, isReceiver }) {
  const bad = isLast && (op.outcome === undefined ? op.failedSteps > 0 : op.outcome !== 'succeeded');
  const kind = bad ? 'bad' : !isLast || isReceiver ? 'done' : isOver ? 'good' : 'now';
  const words = isLast && isOver && op.outcome !== op.phase ? `${phase}, ${op.outcome}` : phase;
  return el(
    'li',
    { class: kind, ...(isLast && !isOver ? { 'aria-current': 'step' } : {}) },
    icon(bad ? 'cross' : kind === 'now' ? 'half' : 'check'),
    words,
    at && el('time', timeOf(at)),
  );
}
