// Draws the right column, where a user sets the clock, metrics, regions, readings and faults.
import { button, byId, chip, el, menuButton, on, onSubmit, option, options, patchList } from './base/elements.js';
import { openRequest } from './request/try.js';
import { drawOn, now, rowsOf, view } from './base/state.js';
import { act } from './base/sync.js';
import { count, dayAndTime, span } from './base/words.js';

const advances = { '15 s': 15_000, '1 min': 60_000, '5 min': 300_000, '1 h': 3_600_000, '1 day': 86_400_000 };

export function prepareBench({ effects, readings, publicRoutes }, metrics) {
  const advance = (ms) => act(`The clock went on by ${span(ms)}`, 'POST', '/clock/advance', { ms });
  byId('advances').append(...Object.entries(advances).map(([text, ms]) => button(`+${text}`, text, () => advance(ms))));
  onSubmit('clock-form', () => advance(Math.round(byId('advance-n').value * byId('advance-unit').value)));
  prepareFaults(effects, publicRoutes);
  byId('m-metric').append(...options(metrics));
  onSubmit('metric-form', setMetric);
  on('m-kind', 'input', () => (byId('m-value').disabled = byId('m-kind').value !== 'number'));
  prepareReadings(readings);
  on('reset', 'click', () => {
    if (confirm('Start over with the start world?')) void act('The start world again', 'POST', '/reset', {});
  });
  drawOn(['time', 'world'], drawClock);
  drawOn(['faults'], drawFaults);
  drawOn(['regions'], () => patchList('region-list', rowsOf('regions'), regionNode, 'None.'));
  drawOn(['environments'], drawEnvironmentIds);
  drawOn(['readings', 'world'], drawReadings);
}

export function drawClock() {
  byId('clock').textContent = `${dayAndTime(now())} UTC`;
  const isVirtual = view.mode === 'virtual';
  byId('clock-note').textContent = isVirtual
    ? 'Virtual: it stands still until it is told to advance.'
    : 'Real: it passes by itself. Start with --clock virtual to advance it here.';
  for (const node of byId('clock-form').querySelectorAll('button, input, select')) node.disabled = !isVirtual;
}

function setMetric() {
  const kind = byId('m-kind').value;
  const pods = (byId('m-pods').value.match(/[^\s,]+/g) ?? []).map(Number);
  const value = { number: Number(byId('m-value').value), null: null, error: 'error' }[kind];
  const [appEnvId, metric] = [byId('m-env').value.trim(), byId('m-metric').value];
  const body = { appEnvId, metric, value, ...(pods.length > 0 ? { pods } : {}) };
  return act(`${metric} of ${appEnvId} is ${value ?? 'without data'}`, 'POST', '/metrics', body);
}

function drawEnvironmentIds() {
  const envs = rowsOf('environments').slice(0, 300);
  byId('env-ids').replaceChildren(...envs.map(({ id, cliEnvName }) => option(id, cliEnvName)));
  const field = byId('m-env');
  if (field.value === '' && document.activeElement !== field) field.value = envs[0]?.id ?? '';
}

function regionNode({ id, up, supports }) {
  const verb = up ? 'Take down' : 'Bring up';
  const toggle = () =>
    act(`${id} is ${up ? 'down' : 'up'}`, 'PATCH', `/regions/${encodeURIComponent(id)}`, { up: !up });
  const missing = Object.entries({ functions: 'Functions', sandbox: 'sandbox', disasterReadiness: 'recovery' })
    .filter(([name]) => !supports[name])
    .map(([, text]) => text);
  const state = el('div.line', el('span.any', id), up ? chip('ok', 'dot', 'up') : chip('bad', 'cross', 'down'));
  const lacks = missing.length > 0 && el('div.muted.small', `no ${missing.join(', ')}`);
  const change = button(verb, 'toggle', toggle, { 'aria-label': `${verb} ${id}` });
  const more = () => [['What it supports…', () => openRequest('PATCH /_sim/regions/:id', { id })]];
  return el('li.item', el('div', state, lacks), el('span.line', change, menuButton(id, more)));
}

function prepareReadings(readings) {
  byId('r-name').append(...options(readings.map(({ name }) => name)));
  const showReading = () => {
    const { does, values } = readings.find(({ name }) => name === byId('r-name').value);
    const words = values.filter((value) => value !== 'N');
    byId('r-does').textContent = `${does}: ${values.join(', ')}`;
    byId('r-values').replaceChildren(...options(words));
    byId('r-value').value = '';
  };
  on('r-name', 'input', showReading);
  onSubmit('reading-form', () => {
    const [name, given] = [byId('r-name').value, byId('r-value').value.trim()];
    return act(`${name} is ${given}`, 'PATCH', '/readings', { [name]: given });
  });
  showReading();
}

function drawReadings() {
  const rows = Object.entries(view.readings).map(([id, value]) => ({ id, value: String(value) }));
  const show = ({ id, value }) => el('li.item.small', el('code.any', id), el('b', value));
  patchList('reading-list', rows, show, 'All as they are by default.');
}

/** The effects of faults that need a value, with the name and type of the value and a suggestion. */
const valueOf = {
  status: ['Status', 'number', '503'],
  commitThen: ['Status', 'number', '500'],
  delayMs: ['Milliseconds', 'number', '1000'],
  truncate: ['Bytes that arrive', 'number', '10'],
  failAfterComponents: ['Components', 'number', '1'],
  redirect: ['Address', 'text', 'http://127.0.0.1:1/'],
  slowBodyMsPerByte: ['Milliseconds per byte', 'number', '20'],
  hugeBody: ['Bytes', 'number', '5000000'],
  staleList: ['Milliseconds ago', 'number', '60000'],
};

function prepareFaults(effects, publicRoutes) {
  const names = effects.map(({ name }) => name);
  byId('f-effect').append(...options(names));
  byId('f-then').append(option('', 'handle the request'), ...options(names.filter((name) => name !== 'delayMs')));
  byId('paths').append(...options([...new Set(publicRoutes.map(({ path }) => path))]));
  const does = Object.fromEntries(effects.map(({ name, does }) => [name, does]));
  on('fault-form', 'input', ({ target }) => showEffect(target.id, does));
  onSubmit('fault-form', () => act(`A fault waits: ${byId('f-effect').value}`, 'POST', '/faults', faultFrom));
  showEffect('f-effect', does);
}

function effectFrom(name, value) {
  if (!(name in valueOf)) return { [name]: true };
  const given = valueOf[name][1] === 'number' ? Number(value) : value;
  return name === 'commitThen' ? { commitThen: { status: given } } : { [name]: given };
}

function jsonIn(id, what) {
  const text = byId(id).value.trim();
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${what} is not JSON`);
  }
}

function matchFrom() {
  const given = (id) => byId(id).value || undefined;
  const [skip, times] = [Number(byId('f-skip').value), Number(byId('f-count').value)];
  return {
    method: given('f-method'),
    path: given('f-path'),
    bodyContains: given('f-contains'),
    skip: skip > 0 ? skip : undefined,
    count: times === 1 ? undefined : times,
  };
}

function wholeEffect() {
  const [name, then] = [byId('f-effect').value, byId('f-then').value];
  const effect = effectFrom(name, byId('f-value').value);
  const body = () => jsonIn('f-body', 'the body');
  if (name === 'status') return { ...effect, body: body(), headers: jsonIn('f-headers', 'headers') };
  if (name === 'commitThen') return { commitThen: { ...effect.commitThen, body: body() } };
  if (name !== 'delayMs' || then === '') return effect;
  // oxlint-disable-next-line unicorn/no-thenable -- the name is fixed, and the value is never a function
  return { ...effect, then: effectFrom(then, byId('f-then-value').value) };
}

const faultFrom = () => ({ match: matchFrom(), effect: wholeEffect() });

function showEffect(changed, does) {
  const name = byId('f-effect').value;
  byId('f-does').textContent = does[name];
  showValue(name, 'f-value', changed === 'f-effect');
  byId('f-body-label').hidden = name !== 'status' && name !== 'commitThen';
  byId('f-headers-label').hidden = name !== 'status';
  byId('f-then-label').hidden = name !== 'delayMs';
  showValue(name === 'delayMs' ? byId('f-then').value : '', 'f-then-value', changed === 'f-then');
  try {
    byId('f-sends').textContent = `POST /_sim/faults ${JSON.stringify(faultFrom())}`;
  } catch (error) {
    byId('f-sends').textContent = error.message;
  }
}

function showValue(effect, id, isFresh) {
  const needs = valueOf[effect];
  byId(`${id}-label`).hidden = needs === undefined;
  if (needs === undefined || !isFresh) return;
  byId(`${id}-name`).textContent = needs[0];
  byId(id).type = needs[1];
  byId(id).value = needs[2];
}

function drawFaults() {
  const all = rowsOf('faults');
  byId('n-faults').textContent = all.length;
  patchList('fault-list', all.slice(0, 50), faultNode, 'None. A fault is used up when it has struck.');
}

function faultNode(fault) {
  const { effect, status, method = 'any', path = '*', skip } = fault;
  const after = skip > 0 ? ` after ${skip}` : '';
  const times = `${after}, ${count(fault.count, 'time')}${fault.readsBody ? ', by its body' : ''}`;
  const strikes = chip('warn', 'bolt', `${effect}${status ? ` ${status}` : ''}`);
  const about = el('span.any.small', strikes, ' ', el('code', `${method} ${path}`), el('span.muted', times));
  const remove = () => act('The fault is gone', 'DELETE', `/faults/${encodeURIComponent(fault.id)}`);
  const named = { class: 'quiet', 'aria-label': `Remove fault ${effect}` };
  return el('li.item', about, button('Remove', 'remove', remove, named));
}
