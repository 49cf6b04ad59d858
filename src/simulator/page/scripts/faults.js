// Faults: the form that injects one, and those that wait.
import { button, byId, chip, el, on, onSubmit, patchList, say } from './base/elements.js';
import { rowsOf } from './base/state.js';
import { act } from './base/sync.js';
import { count } from './base/words.js';

/** The value that an effect needs, with its name, type and a suggestion; other effects need none. */
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

let effectsThere = [];

export function prepareFaults(effects, publicRoutes) {
  effectsThere = effects;
  byId('f-effect').append(...effects.map(({ name }) => el('option', name)));
  byId('f-then').append(
    el('option', { value: '' }, 'handle the request'),
    ...effects.filter(({ name }) => name !== 'delayMs').map(({ name }) => el('option', name)),
  );
  const paths = [...new Set(publicRoutes.map(({ path }) => path))];
  byId('paths').append(...paths.map((value) => el('option', { value })));
  on('fault-form', 'input', (event) => showEffect(event.target.id));
  onSubmit('fault-form', async () => {
    try {
      await act(`A fault waits: ${byId('f-effect').value}`, 'POST', '/faults', faultFrom());
    } catch (error) {
      say(`Not done: ${error.message}`);
    }
  });
  showEffect('f-effect');
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

function faultFrom() {
  const name = byId('f-effect').value;
  const effect = effectFrom(name, byId('f-value').value);
  const body = name === 'status' || name === 'commitThen' ? jsonIn('f-body', 'the body') : undefined;
  if (body !== undefined) (name === 'status' ? effect : effect.commitThen).body = body;
  const headers = name === 'status' ? jsonIn('f-headers', 'headers') : undefined;
  if (headers !== undefined) effect.headers = headers;
  if (name === 'delayMs' && byId('f-then').value !== '') {
    // oxlint-disable-next-line unicorn/no-thenable -- the name is fixed, and the value is never a function
    effect.then = effectFrom(byId('f-then').value, byId('f-then-value').value);
  }
  return { match: matchFrom(), effect };
}

function showEffect(changed) {
  const name = byId('f-effect').value;
  byId('f-does').textContent = effectsThere.find((effect) => effect.name === name)?.does ?? '';
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

export function drawFaults() {
  const all = rowsOf('faults');
  byId('n-faults').textContent = all.length;
  patchList('fault-list', all.slice(0, 50), faultNode, 'None. A fault is used up when it has struck.');
}

function faultNode(fault) {
  const after = fault.skip > 0 ? ` after ${fault.skip}` : '';
  const remove = () => act('The fault is gone', 'DELETE', `/faults/${encodeURIComponent(fault.id)}`);
  return el(
    'li.item',
    el(
      'span.any.small',
      chip('warn', 'bolt', `${fault.effect}${fault.status ? ` ${fault.status}` : ''}`),
      ' ',
      el('code', `${fault.method ?? 'any'} ${fault.path ?? '*'}`),
      el('span.muted', `${after}, ${count(fault.count, 'time')}${fault.readsBody ? ', by its body' : ''}`),
    ),
    button('Remove', 'remove', remove, { class: 'quiet', 'aria-label': `Remove fault ${fault.effect}` }),
  );
}
