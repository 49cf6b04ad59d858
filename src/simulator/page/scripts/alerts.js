// Alerts with their state and a strip of the last half hour; contact points.
import { alertActions, pointActions } from './actions.js';
import { button, byId, chip, el, mono, on, svg, tag } from './base/elements.js';
import { menuButton } from './base/menu.js';
import { openRequest } from './request/try.js';
import { drawOn } from './base/schedule.js';
import { now, rowsOf, states, tables } from './base/state.js';
import { act } from './base/sync.js';
import { rowOf, windowedList } from './base/windowed.js';
import { chipFor, count, span, stateOf, timeOf } from './base/words.js';

let showAlerts;
let showPoints;

export function prepareAlerts() {
  showAlerts = windowedList(byId('alert-box'), byId('alert-list'), 76);
  showPoints = windowedList(byId('point-box'), byId('point-list'), 38);
  drawOn(['alerts', 'environments', 'metrics', 'time'], drawAlerts);
  drawOn(['contactPoints', 'alerts'], drawPoints);
  on('evaluate', 'click', () => act('Every alert was evaluated', 'POST', '/alerts/evaluate', {}));
  on('new-alert', 'click', () => openRequest('POST /app-env/alert'));
  on('new-point', 'click', () => openRequest('POST /contact-point'));
}

const order = Object.keys(stateOf);
const stateNow = ({ enabled, state }) => (enabled ? state : 'Paused');

function drawAlerts() {
  const all = rowsOf('alerts').map((alert) => ({ alert, place: order.indexOf(stateNow(alert)) }));
  all.sort((a, b) => a.place - b.place || a.alert.createdAt - b.alert.createdAt);
  byId('n-alerts').textContent = all.length.toLocaleString('en');
  const byState = Map.groupBy(all, ({ alert }) => stateNow(alert));
  const sums = order.filter((state) => byState.has(state));
  byId('alert-sum').replaceChildren(
    ...sums.map((state) => chip(...stateOf[state], `${byState.get(state).length.toLocaleString('en')} ${state}`)),
  );
  const rows = all.map(({ alert }) => ({ key: alert.id, show: () => alertRow(alert) }));
  showAlerts(rows, 'No alerts. Make a contact point and an alert; then set its metric on the bench.');
}

function alertRow(alert) {
  const env = tables.environments.get(alert.appEnvId);
  const value = observed(alert);
  const strip = stripOf(alert);
  const update = (node) => showAlert(node, alert, env, value, strip);
  return {
    sig: JSON.stringify([alert, env?.cliEnvName, value, strip]),
    make: () => update(el('li.alert')),
    update,
  };
}

/** The value that an alert looks at, as the metric stands. */
function observed(alert) {
  const metric = tables.metrics.get(`${alert.appEnvId}/${alert.metric}`);
  if (metric === undefined || metric.value === null) return 'no data';
  if (metric.value === 'error' || metric.pods.length === 0) return String(metric.value);
  const { pods } = metric;
  const values = {
    mean: () => pods.reduce((a, b) => a + b, 0) / pods.length,
    max: () => Math.max(...pods),
    min: () => Math.min(...pods),
    last: () => pods.at(-1),
  };
  return String(Math.round(values[alert.aggregation]() * 100) / 100);
}

const halfHour = 1_800_000;

/** The states over the last half hour, as pieces of the whole in thousandths. */
function stripOf(alert) {
  const until = now();
  const changes = (states.get(alert.id) ?? []).filter(({ at }) => at >= Math.max(alert.createdAt, until - halfHour));
  // From a little before the first change of the last half hour, so that what happened fills the strip.
  const recent = changes.length === 0 ? halfHour : Math.max(120_000, (until - changes[0].at) * 1.25);
  const from = Math.max(alert.createdAt, until - recent);
  const width = Math.max(1, until - from);
  const pieces = [];
  let at = from;
  let state = changes[0]?.from ?? alert.state;
  for (const change of changes) {
    if (change.at > from) pieces.push([state, Math.round(((change.at - at) / width) * 1000)]);
    at = Math.max(at, change.at);
    state = change.to;
  }
  pieces.push([state, 1000 - pieces.reduce((sum, [, part]) => sum + part, 0)]);
  const told = changes.slice(-6).map((change) => `${change.to} at ${timeOf(change.at)}`);
  return { pieces: pieces.filter(([, part]) => part > 0), since: span(width), told: told.join(', ') };
}

function showAlert(node, alert, env, value, strip) {
  const said = JSON.stringify([alert, env?.cliEnvName, value]);
  if (node.said === said) node.querySelector('.strip').replaceWith(stripNode(alert, strip));
  else replaceKeepingFocus(node, aboutAlert(alert, env, value, stripNode(alert, strip)));
  node.said = said;
  return node;
}

function replaceKeepingFocus(node, children) {
  const act = node.contains(document.activeElement) ? document.activeElement.dataset.act : undefined;
  node.replaceChildren(...children);
  if (act !== undefined) node.querySelector(`[data-act="${act}"]`)?.focus({ preventScroll: true });
}

const heights = { Normal: 5, NoData: 2, Pending: 11, Firing: 20, Error: 18 };

function stripNode(alert, strip) {
  let x = 0;
  const bars = strip.pieces.map(([state, part]) => {
    const height = heights[state] ?? 5;
    const kind = `s-${state in heights ? state : 'NoData'}`;
    const bar = svg('rect', { class: kind, x, y: 20 - height, width: Math.max(part, 4), height });
    x += part;
    return bar;
  });
  const label = `History: ${strip.told === '' ? `${alert.state} all the time` : strip.told}`;
  const picture = { viewBox: '0 0 1000 20', preserveAspectRatio: 'none', role: 'img', 'aria-label': label };
  return el(
    'div.strip',
    svg('svg', picture, svg('title', {}, label), ...bars),
    el('div.ends', el('span', `${strip.since} ago`), el('span', 'now')),
  );
}

function aboutAlert(alert, env, value, strip) {
  const setMetric = button('Set its metric', 'metric', () => pointAtMetric(alert), {
    class: 'quiet',
    'aria-label': `Set the metric of ${alert.name}`,
  });
  const told = [
    alert.knownState !== alert.state && `clients are told ${alert.knownState}`,
    !alert.enabled && `was ${alert.state}`,
  ].filter(Boolean);
  return [
    el('span', chipFor(stateOf, stateNow(alert))),
    el(
      'div.any',
      el('div.line', el('b.any', alert.name), el('span.muted.any', env?.cliEnvName ?? alert.appEnvId)),
      el(
        'div.small.any',
        el('code', `${alert.metric} ${alert.operator === 'gt' ? '>' : '<'} ${alert.threshold}`),
        ` for ${alert.duration}, now ${value}`,
      ),
      el('div.line.small.muted', told.length > 0 && el('span', told.join(', ')), setMetric),
    ),
    strip,
    menuButton(alert.name, () => alertActions(alert)),
  ];
}

function pointAtMetric({ appEnvId, metric }) {
  byId('m-env').value = appEnvId;
  byId('m-metric').value = metric;
  byId('m-value').focus();
  byId('m-value').select();
}

function drawPoints() {
  const uses = new Map();
  for (const alert of tables.alerts.values()) {
    for (const id of alert.contactPointIds) uses.set(id, (uses.get(id) ?? 0) + 1);
  }
  const rows = rowsOf('contactPoints').map((point) => {
    const used = uses.get(point.id) ?? 0;
    return rowOf(point.id, [point, used], () => pointNode(point, used));
  });
  byId('n-points').textContent = rows.length.toLocaleString('en');
  showPoints(rows, 'No contact points.');
}

function pointNode(point, uses) {
  const where = point.regions.length === 0 ? 'deployed nowhere yet' : `deployed in ${point.regions.join(', ')}`;
  return el(
    'li.point',
    el(
      'div',
      el('div.line', el('b.any', point.name), tag(point.type), mono(point.id)),
      el('div.muted.small', `${count(uses, 'alert')}; ${where}`),
    ),
    menuButton(point.name, () => pointActions(point)),
  );
}
