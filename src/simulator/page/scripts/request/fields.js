// Draws the fields of a request, each with a suitable input; fields that name an object offer the ids that exist.
import { button, el } from '../base/elements.js';
import { tables } from '../base/state.js';

const mostOptions = 500;

/** Draws a field with its input; calls `changed` with a new value, or with undefined when the field must not be sent. */
export function fieldNode(field, value, { choices, accountId }, changed) {
  const input = controlOf(field, value, optionsOf(field, choices, accountId), changed);
  input.id = `t-field-${field.name}`;
  input.dataset.field = field.name;
  const label = el(
    'label',
    { for: input.id, class: 'any' },
    ...partsOf(field.name),
    field.isRequired && el('span.must', { title: 'must be sent' }, '*', el('span.gone', ' required')),
  );
  const drop = button('×', `drop ${field.name}`, () => changed(undefined, true), {
    class: 'quiet drop',
    'aria-label': `Do not send ${field.name}`,
    title: 'Do not send it',
  });
  return el(
    'div.field',
    { 'data-key': field.name },
    label,
    el('div.control', input, adderOf(field, input, choices, accountId)),
    !field.isRequired && drop,
  );
}

/** Makes the label of a field: the path to it in small print, then its name. */
function partsOf(name) {
  const steps = name.split('/');
  const last = steps.pop();
  const way = steps
    .map((step) => (/^\d+$/.test(step) ? `[${step}]` : step))
    .join('.')
    .replaceAll('.[', '[');
  return [way !== '' && el('span.way', `${way}.`), last];
}

/** Lists the values that a field may have; undefined when it may have any. */
function optionsOf({ name, kind, words, pick }, choices, accountId) {
  if (kind === 'flag') return ['true', 'false'].map((value) => ({ value, text: value }));
  if (words) return words.map((value) => ({ value, text: value }));
  if (choices[name]?.length > 0) return choices[name];
  return pick ? picksOf(pick, accountId) : undefined;
}

const callsOf = {
  alerts: (row) => `${row.name} (${tables.environments.get(row.appEnvId)?.cliEnvName ?? row.appEnvId})`,
  configurations: (row) => `${row.appName} / ${row.envName}`,
  credentials: (row) => row.kind,
  environments: (row) => row.cliEnvName,
  faults: (row) => row.effect,
  memberships: (row) => row.token,
  regions: (row) => (row.up ? 'up' : 'down'),
  tokens: (row) => row.kind,
};

function picksOf(pick, accountId) {
  const isOurs = (row) => !accountId || !row.accountId || row.accountId === accountId;
  const rows = tables[pick].values().filter(isOurs).take(mostOptions);
  return Array.from(rows, (row) => {
    const name = callsOf[pick]?.(row) ?? row.name;
    return { value: row.id, text: name ? `${row.id} · ${name}` : row.id };
  });
}

function controlOf(field, value, options, changed) {
  const { kind } = field;
  if (options && kind !== 'list') return selectOf(field, value, options, changed);
  if (kind === 'json') return jsonOf(value, changed);
  const text = kind === 'list' ? (value ?? []).join(', ') : (value ?? '');
  const type = kind === 'number' ? { type: 'number', step: 'any' } : { type: 'text' };
  const input = el('input', { ...type, autocomplete: 'off', spellcheck: 'false' });
  input.value = text;
  input.addEventListener('input', () => changed(valueFrom(kind, input.value)));
  input.addEventListener('change', () => changed(valueFrom(kind, input.value), true));
  return input;
}

function valueFrom(kind, text) {
  if (kind === 'list') return text.split(',').flatMap((item) => item.trim() || []);
  if (kind === 'number') return text === '' ? undefined : Number(text);
  return text;
}

function selectOf({ kind, isRequired }, value, options, changed) {
  const now = value === undefined ? '' : String(value);
  const all = options.some((option) => option.value === now) ? options : [{ value: now, text: now || '–' }, ...options];
  const select = el('select', ...all.map((option) => el('option', { value: option.value }, option.text)));
  select.value = now;
  select.addEventListener('change', () => {
    const chosen = select.value;
    const given = kind === 'flag' ? chosen === 'true' : chosen;
    changed(chosen === '' && !isRequired ? undefined : given, true);
  });
  return select;
}

function jsonOf(value, changed) {
  const area = el('textarea', { spellcheck: 'false', rows: '1' });
  area.value = value === undefined ? '' : JSON.stringify(value);
  const read = (isDone) => {
    try {
      changed(area.value.trim() === '' ? undefined : JSON.parse(area.value), isDone);
      area.removeAttribute('aria-invalid');
    } catch {
      area.setAttribute('aria-invalid', 'true');
    }
  };
  area.addEventListener('input', () => read(false));
  area.addEventListener('change', () => read(true));
  return area;
}

/** Makes the control that adds an item to a list. */
function adderOf(field, input, choices, accountId) {
  const options = field.kind === 'list' ? optionsOf({ ...field, kind: 'text' }, choices, accountId) : undefined;
  if (!options || options.length === 0) return undefined;
  const select = el(
    'select',
    { 'aria-label': `Add to ${field.name}`, class: 'adder' },
    el('option', { value: '' }, 'Add…'),
    ...options.map(({ value, text }) => el('option', { value }, text)),
  );
  select.addEventListener('change', () => {
    const items = valueFrom('list', input.value);
    if (select.value !== '' && !items.includes(select.value)) input.value = [...items, select.value].join(', ');
    select.value = '';
    input.dispatchEvent(new Event('input'));
  });
  return select;
}
