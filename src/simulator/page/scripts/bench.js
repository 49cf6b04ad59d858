// The bench: clock, metrics, regions and readings.
import { button, byId, chip, el, on, onSubmit, patchList } from './base/elements.js';
import { drawFaults, prepareFaults } from './faults.js';
import { menuButton } from './base/menu.js';
import { openRequest } from './request/try.js';
import { drawOn } from './base/schedule.js';
import { now, rowsOf, view } from './base/state.js';
import { act } from './base/sync.js';
import { dayAndTime, span } from './base/words.js';

const advances = [
  ['15 s', 15_000],
  ['1 min', 60_000],
  ['5 min', 300_000],
  ['1 h', 3_600_000],
  ['1 day', 86_400_000],
];

let readingsThere = [];

export function prepareBench({ effects, readings, publicRoutes }) {
  readingsThere = readings;
  prepareClock();
  prepareFaults(effects, publicRoutes);
  prepareMetric();
  prepareReadings();
  prepareReset();
  drawOn(['time', 'world'], drawClock);
  drawOn(['faults'], drawFaults);
  drawOn(['regions'], drawRegions);
  drawOn(['environments'], drawEnvironmentIds);
  drawOn(['readings', 'world'], drawReadings);
}

function prepareClock() {
  byId('advances').append(...advances.map(([text, ms]) => button(`+${text}`, text, () => advance(ms))));
  onSubmit('clock-form', () =>
    advance(Math.round(Number(byId('advance-n').value) * Number(byId('advance-unit').value))),
  );
}

const advance = (ms) => act(`The clock went on by ${span(ms)}`, 'POST', '/clock/advance', { ms });

export function drawClock() {
  byId('clock').textContent = `${dayAndTime(now())} UTC`;
  const isVirtual = view.mode === 'virtual';
  byId('clock-note').textContent = isVirtual
    ? 'Virtual: it stands still until it is told to advance.'
    : 'Real: it passes by itself. Start with --clock virtual to advance it here.';
  for (const node of byId('clock-form').querySelectorAll('button, input, select')) node.disabled = !isVirtual;
}

function prepareReset() {
  let armed;
  const disarm = () => {
    clearTimeout(armed);
    armed = undefined;
    byId('reset').textContent = 'Reset the world';
  };
  on('reset', 'click', () => {
    if (armed === undefined) {
      byId('reset').textContent = 'Press again to reset';
      armed = setTimeout(disarm, 4000);
      return;
    }
    disarm();
    void act('The start world again', 'POST', '/reset', {});
  });
}

function prepareMetric() {
  onSubmit('metric-form', () => {
    const kind = byId('m-kind').value;
    const pods = (byId('m-pods').value.match(/[^\s,]+/g) ?? []).map(Number);
    const value = kind === 'null' ? null : kind === 'error' ? 'error' : Number(byId('m-value').value);
    const [appEnvId, metric] = [byId('m-env').value.trim(), byId('m-metric').value];
    const body = { appEnvId, metric, value, ...(pods.length > 0 ? { pods } : {}) };
    return act(`${metric} of ${appEnvId} is ${value === null ? 'without data' : value}`, 'POST', '/metrics', body);
  });
  on('m-kind', 'input', () => (byId('m-value').disabled = byId('m-kind').value !== 'number'));
}

/** The metrics that there are; the forms of the simulator know them. */
export function offerMetrics(names) {
  byId('m-metric').replaceChildren(...names.map((name) => el('option', name)));
}

function drawEnvironmentIds() {
  const envs = rowsOf('environments').slice(0, 300);
  byId('env-ids').replaceChildren(...envs.map(({ id, cliEnvName }) => el('option', { value: id }, cliEnvName)));
  const field = byId('m-env');
  if (field.value === '' && document.activeElement !== field) field.value = envs[0]?.id ?? '';
}

function drawRegions() {
  patchList('region-list', rowsOf('regions'), regionNode, 'None.');
}

function regionNode({ id, up, supports }) {
  const verb = up ? 'Take down' : 'Bring up';
  const toggle = () =>
    act(`${id} is ${up ? 'down' : 'up'}`, 'PATCH', `/regions/${encodeURIComponent(id)}`, { up: !up });
  const missing = Object.entries({ functions: 'Functions', sandbox: 'sandbox', disasterReadiness: 'recovery' })
    .filter(([name]) => !supports[name])
    .map(([, text]) => text);
  return el(
    'li.item',
    el(
      'div',
      el('div.line', el('span.any', id), up ? chip('ok', 'dot', 'up') : chip('bad', 'cross', 'down')),
      missing.length > 0 && el('div.muted.small', `no ${missing.join(', ')}`),
    ),
    el(
      'span.line',
      button(verb, 'toggle', toggle, { 'aria-label': `${verb} ${id}` }),
      menuButton(id, () => [['What it supports…', () => openRequest('PATCH /_sim/regions/:id', { id })]]),
    ),
  );
}

function prepareReadings() {
  byId('r-name').append(...readingsThere.map(({ name }) => el('option', name)));
  on('r-name', 'input', () => {
    byId('r-value').value = '';
    showReading();
  });
  onSubmit('reading-form', () => {
    const name = byId('r-name').value;
    const given = byId('r-value').value.trim();
    const value = /^\d+$/.test(given) ? Number(given) : given;
    return act(`${name} is ${given}`, 'PATCH', '/readings', { [name]: value });
  });
  showReading();
}

function showReading() {
  const { does = '', values = [] } = readingsThere.find(({ name }) => name === byId('r-name').value) ?? {};
  byId('r-does').textContent = `${does}: ${values.join(', ')}`;
  byId('r-values').replaceChildren(...values.filter((value) => value !== 'N').map((value) => el('option', { value })));
}

function drawReadings() {
  const rows = Object.entries(view.readings).map(([id, value]) => ({ id, value: String(value) }));
  const show = ({ id, value }) => el('li.item.small', el('code.any', id), el('b', value));
  patchList('reading-list', rows, show, 'All as they are by default.');
}
