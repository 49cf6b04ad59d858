// Draws the fields of a request, each with a suitable input. A field that names an object offers the ids that exist.
import { button, el, option } from '../base/elements.js';
import { tables } from '../base/state.js';

const mostOptions = 500;

/** Draws a field with its input. Calls `changed` with each new value, or with undefined when the field must not be sent. */
export function fieldNode(field, value, { choices, accountId }, changed) {
  const { name, kind, isRequired } = field;
  const offered = offeredFor(field, choices, accountId);
  const input = offered && kind !== 'list' ? selectOf(value, offered) : inputOf(kind, value);
  input.id = `t-field-${name}`;
  input.dataset.field = name;
  if (!input.matches('select')) input.addEventListener('input', () => read(field, input, changed, false));
  input.addEventListener('change', () => read(field, input, changed, true));
  const must = isRequired && el('span.must', { title: 'must be sent' }, '*', el('span.gone', ' required'));
  const label = el('label', { for: input.id, class: 'any' }, ...partsOf(name), must);
  const about = { class: 'quiet drop', 'aria-label': `Do not send ${name}`, title: 'Do not send it' };
  const drop = button('×', `drop ${name}`, () => changed(undefined, true), about);
  const control = el('div.control', input, kind === 'list' && adderOf(name, input, offered));
  return el('div.field', { 'data-key': name }, label, control, !isRequired && drop);
}

/** Makes the label of a field: in small print the path to the field, then its name. */
function partsOf(name) {
  const last = name.split('/').at(-1);
  const way = name
    .slice(0, -last.length)
    .replaceAll(/\/(\d+)/g, '[$1]')
    .replaceAll('/', '.');
  return [way !== '' && el('span.muted', way), last];
}

/** Lists the values that a field may have; returns undefined when the field may have any value. */
function offeredFor({ name, kind, words, pick }, choices, accountId) {
  const known = kind === 'flag' ? ['true', 'false'] : words;
  if (known) return known.map((value) => ({ value, text: value }));
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

function inputOf(kind, value) {
  if (kind === 'json') {
    const area = el('textarea', { spellcheck: 'false', rows: '1' });
    area.value = value === undefined ? '' : JSON.stringify(value);
    return area;
  }
  const type = kind === 'number' ? { type: 'number', step: 'any' } : { type: 'text' };
  const input = el('input', { ...type, autocomplete: 'off', spellcheck: 'false' });
  input.value = kind === 'list' ? (value ?? []).join(', ') : (value ?? '');
  return input;
}

function selectOf(value, offered) {
  const now = value === undefined ? '' : String(value);
  const isOffered = offered.some((each) => each.value === now);
  const all = isOffered ? offered : [{ value: now, text: now || '–' }, ...offered];
  const select = el('select', ...all.map((each) => option(each.value, each.text)));
  select.value = now;
  return select;
}

/** Passes on the value of an input; marks the input when its text should be JSON and is not. */
function read(field, input, changed, isDone) {
  let value;
  try {
    value = valueIn(field, input);
  } catch {
    input.setAttribute('aria-invalid', 'true');
    return;
  }
  input.removeAttribute('aria-invalid');
  changed(value, isDone);
}

const itemsIn = (text) => text.split(',').flatMap((item) => item.trim() || []);

function valueIn({ kind, isRequired }, input) {
  const text = input.value;
  if (text === '' && input.matches('select') && !isRequired) return undefined;
  if (kind === 'flag') return text === 'true';
  if (kind === 'list') return itemsIn(text);
  if (kind === 'text') return text;
  if (text.trim() === '') return undefined;
  return kind === 'number' ? Number(text) : JSON.parse(text);
}

/** Makes the control that adds an item to a list field. */
function adderOf(name, input, offered = []) {
  if (offered.length === 0) return undefined;
  const about = { 'aria-label': `Add to ${name}`, class: 'adder' };
  const select = el('select', about, option('', 'Add…'), ...offered.map(({ value, text }) => option(value, text)));
  select.addEventListener('change', () => {
    const items = itemsIn(input.value);
    if (select.value !== '' && !items.includes(select.value)) input.value = [...items, select.value].join(', ');
    select.value = '';
    input.dispatchEvent(new Event('input'));
  });
  return select;
}
