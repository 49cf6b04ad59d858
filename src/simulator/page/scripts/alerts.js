// Shows the contact points, and the alerts with their state now and during the last half hour.
import { alertActions, pointActions } from './actions.js';
import { button, byId, chip, el, mono, on, rowNode, svg, tag } from './base/elements.js';
import { openRequest } from './request/try.js';
import { drawOn, linesAbout, now, rowsOf, tables } from './base/state.js';
import { act } from './base/sync.js';
import { windowedList } from './base/windowed.js';
import { chipFor, count, listed, span, stateOf, timeOf } from './base/words.js';

const showAlerts = windowedList('alert-box', 56);
const showPoints = windowedList('point-box', 38);

export function prepareAlerts() {
  drawOn(['alerts', 'environments', 'metrics', 'time'], drawAlerts);
  drawOn(['contactPoints', 'alerts'], drawPoints);
  on('evaluate', 'click', () => act('Every alert was evaluated', 'POST', '/alerts/evaluate', {}));
  on('new-alert', 'click', () => openRequest('POST /app-env/alert'));
  on('new-point', 'click', () => openRequest('POST /contact-point'));
}

const order = Object.keys(stateOf);
const stateNow = ({ enabled, state }) => (enabled ? state : 'Paused');

function drawAlerts() {
  const place = (alert) => order.indexOf(stateNow(alert));
  const all = rowsOf('alerts').sort((a, b) => place(a) - place(b) || a.createdAt - b.createdAt);
  byId('n-alerts').textContent = all.length.toLocaleString('en');
  const sums = [...Map.groupBy(all, stateNow)];
  byId('alert-sum').replaceChildren(
    ...sums.map(([state, { length }]) => chip(...stateOf[state], `${length.toLocaleString('en')} ${state}`)),
  );
  const none = 'No alerts. Make a contact point and an alert; then set its metric on the bench.';
  const rows = all.map((alert) => ({
    key: alert.id,
    from: () => [alert, tables.environments.get(alert.appEnvId)?.cliEnvName, observed(alert), stripOf(alert)],
    make: alertNode,
  }));
  showAlerts(rows, none);
}

/** Computes the value that an alert compares with its threshold. */
function observed(alert) {
  const { value = null, pods = [] } = tables.metrics.get(`${alert.appEnvId}/${alert.metric}`) ?? {};
  if (value === null) return 'no data';
  if (value === 'error' || pods.length === 0) return String(value);
  const values = {
    mean: () => pods.reduce((a, b) => a + b, 0) / pods.length,
    max: () => Math.max(...pods),
    min: () => Math.min(...pods),
    last: () => pods.at(-1),
  };
  return String(Math.round(values[alert.aggregation]() * 100) / 100);
}

const halfHour = 1_800_000;

/** Lists the states that an alert had in the last half hour, each with its share of the shown time in thousandths. */
function stripOf(alert) {
  const until = now();
  const start = Math.max(alert.createdAt, until - halfHour);
  const changes = linesAbout(alert.id, 'alert.stateChanged').filter(({ at }) => at >= start);
  // Begin shortly before the first change of state, so that the changes fill the whole strip.
  const recent = changes.length === 0 ? halfHour : Math.max(120_000, (until - changes[0].at) * 1.25);
  const from = Math.max(start, until - recent);
  const width = Math.max(1, until - from);
  const states = [{ at: from, to: changes[0]?.from ?? alert.state }, ...changes];
  const thousandths = (ms) => Math.round((ms / width) * 1000);
  const pieces = states.map(({ at, to }, n) => [
    to,
    thousandths(at - from),
    thousandths((states[n + 1]?.at ?? until) - at),
  ]);
  const told = changes.slice(-6).map(({ to, at }) => `${to} at ${timeOf(at)}`);
  return {
    pieces: pieces.filter(([, , part]) => part > 0),
    since: span(width),
    told: told.join(', ') || `${alert.state} all the time`,
  };
}

const heights = { Normal: 5, NoData: 2, Pending: 11, Firing: 20, Error: 18 };

function stripNode({ pieces, since, told }) {
  const bars = pieces.map(([state, x, part]) => {
    const height = heights[state];
    const place = { x, y: 20 - height, width: Math.max(part, 4), height };
    return svg('rect', { class: `${stateOf[state][0]} s-${state}`, ...place });
  });
  const label = `History: ${told}`;
  const picture = { viewBox: '0 0 1000 20', preserveAspectRatio: 'none', role: 'img', 'aria-label': label };
  return el(
    'div.strip',
    svg('svg', picture, svg('title', {}, label), ...bars),
    el('div.ends', el('span', `${since} ago`), el('span', 'now')),
  );
}

function alertNode(alert, env, value, strip) {
  const { appEnvId, knownState, state } = alert;
  const condition = `${alert.metric} ${alert.operator === 'gt' ? '>' : '<'} ${alert.threshold}`;
  const about = { class: 'quiet inline', title: 'Set its metric', 'aria-label': `Set the metric of ${alert.name}` };
  const told = listed(
    ` for ${alert.duration}, now ${value}`,
    knownState !== state && `clients are told ${knownState}`,
    !alert.enabled && `was ${state}`,
  );
  const name = el('div.line', el('b.any', alert.name), el('span.muted.any', env ?? appEnvId));
  const setMetric = button(el('code', condition), 'metric', () => pointAtMetric(alert), about);
  const parts = [
    el('span', chipFor(stateOf, stateNow(alert))),
    el('div.any', name, el('div.small.any', setMetric, told)),
    stripNode(strip),
  ];
  return rowNode('alert', alert.name, () => alertActions(alert), ...parts);
}

function pointAtMetric({ appEnvId, metric }) {
  byId('m-env').value = appEnvId;
  byId('m-metric').value = metric;
  byId('m-value').focus();
  byId('m-value').select();
}

function drawPoints() {
  const uses = Map.groupBy(
    rowsOf('alerts').flatMap(({ contactPointIds }) => contactPointIds),
    (id) => id,
  );
  const rows = rowsOf('contactPoints').map((point) => ({
    key: point.id,
    from: () => [point, uses.get(point.id)?.length ?? 0],
    make: pointNode,
  }));
  byId('n-points').textContent = rows.length.toLocaleString('en');
  showPoints(rows, 'No contact points.');
}

function pointNode(point, uses) {
  const where = point.regions.length === 0 ? 'deployed nowhere yet' : `deployed in ${point.regions.join(', ')}`;
  const name = el('div.line', el('b.any', point.name), tag(point.type), mono(point.id));
  const about = el('div', name, el('div.muted.small', `${count(uses, 'alert')}; ${where}`));
  return rowNode('point', point.name, () => pointActions(point), about);
}
