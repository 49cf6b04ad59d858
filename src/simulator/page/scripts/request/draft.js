// A request that is being written: its path, query and body, and how its fields stand in them.

const publicPrefix = '/api/public/v1';

export const isControl = ({ path }) => path.startsWith('/_sim/');
const carriesBody = ({ method }) => method === 'POST' || method === 'PATCH';

/** The value of a field, wherever it stands. */
export function valueOfField(form, draft, { name }) {
  if (name === 'id' && form.path.includes(':id')) return draft.id;
  if (!carriesBody(form)) return draft.query[name];
  return name.split('/').reduce((into, step) => into?.[step], draft.body);
}

/** The same draft with another value of a field; undefined takes it out. */
export function withField(form, draft, { name }, value) {
  if (name === 'id' && form.path.includes(':id')) return { ...draft, id: value };
  if (!carriesBody(form)) {
    const { [name]: _before, ...query } = draft.query;
    return { ...draft, query: value === undefined ? query : { ...query, [name]: String(value) } };
  }
  return { ...draft, body: put(draft.body ?? {}, name.split('/'), value) };
}

function put(into, [step, ...rest], value) {
  const inside = rest.length === 0 ? value : put(into?.[step] ?? {}, rest, value);
  const isGone = inside === undefined || (rest.length > 0 && value === undefined && isEmptyObject(inside));
  if (/^\d+$/.test(step)) return Object.assign(Array.isArray(into) ? [...into] : [], { [step]: inside });
  const { [step]: _before, ...others } = into ?? {};
  return isGone ? others : { ...into, [step]: inside };
}

const isEmptyObject = (value) => !Array.isArray(value) && Object.keys(value).length === 0;

/** Path and query as they are sent. */
export function addressOf(form, { id, query }) {
  const path = form.path.replace(':id', encodeURIComponent(id ?? ''));
  const asked = new URLSearchParams(query).toString();
  return `${isControl(form) ? '' : publicPrefix}${path}${asked === '' ? '' : `?${asked}`}`;
}

export const bodyTextOf = (form, { body }) => (carriesBody(form) ? JSON.stringify(body ?? {}, undefined, 2) : '');

/** The headers that a request is sent with. */
export function headersOf(form, token, text) {
  const headers = {};
  if (!isControl(form) && token !== '') headers['authorization'] = token;
  if (text !== '') headers['content-type'] = 'application/json';
  return headers;
}

const quoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

/** The same request as a command for a shell. */
export function curlOf(form, draft, token, text) {
  const headers = Object.entries(headersOf(form, token, text)).map(
    ([name, value]) => `-H ${quoted(`${name}: ${value}`)}`,
  );
  const data = text === '' ? [] : [`-d ${quoted(compact(text))}`];
  const method = form.method === 'GET' ? [] : [`-X ${form.method}`];
  return ['curl -sS', ...method, quoted(`${location.origin}${addressOf(form, draft)}`), ...headers, ...data].join(' ');
}

function compact(text) {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return text;
  }
}
