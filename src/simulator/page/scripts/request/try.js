// Lets a user try a request: choose a token and a route, fill in the fields, send the request and see the answer.
import { nothingSentYet, sendAndShow } from './answer.js';
import { button, byId, el, on, onSubmit, option, say } from '../base/elements.js';
import { fieldNode } from './fields.js';
import { drawOn, groups, rowsOf, tables } from '../base/state.js';
import { ask } from '../base/sync.js';
import { indented, listed } from '../base/words.js';

const formsByName = new Map();
let form;
/** The request that the user is writing: the values in its path, query and body. */
let draft = { path: {}, query: {} };
let choices = {};
let lacks = [];
/** The fields that the user chose, with their values. They keep these values when the other fields are filled in. */
let chosen = {};

const nameOfForm = ({ method, path }) => `${method} ${path}`;
const isControl = () => form.path.startsWith('/_sim/');
const carriesBody = () => form.method === 'POST' || form.method === 'PATCH';
const partOf = ({ name }) => (name === 'id' ? 'path' : carriesBody() ? 'body' : 'query');

export function prepareRequest(all) {
  for (const each of all) formsByName.set(nameOfForm(each), each);
  const route = (each) => option(nameOfForm(each), `${nameOfForm(each)} – ${each.does}`);
  const areas = Map.groupBy(all, ({ area }) => area);
  byId('t-route').append(...Array.from(areas, ([label, inIt]) => el('optgroup', { label }, ...inIt.map(route))));
  on('t-route', 'change', () => openForm(byId('t-route').value));
  on('t-token', 'change', () => fillAnew());
  on('t-body', 'input', takeBody);
  on('t-again', 'click', () => fillAnew(({ pick }) => pick !== undefined));
  on('t-more', 'change', addField);
  on('t-copy', 'click', copy);
  onSubmit('try-form', sendIt);
  drawOn(['world', 'tokens', 'memberships', 'accounts'], drawTokens);
  drawOn(['world'], () => {
    nothingSentYet();
    return fillAnew();
  });
  drawOn(['accounts', 'apps', 'environments', 'contactPoints', 'alerts', 'configurations'], () => {
    if (lacks.length > 0) void fillIn();
  });
  drawTokens();
  nothingSentYet();
  void openForm('GET /apps');
}

/** Opens the form of a request with some fields already chosen, and scrolls to it. */
export async function openRequest(name, given = {}) {
  const accountId = given.accountId ?? accountOf(given);
  if (accountId !== undefined) byId('t-token').value = tokenFor(accountId);
  byId('t-route').value = name;
  await openForm(name, given);
  byId('try').scrollIntoView({ block: 'start' });
  (byId('t-fields').querySelector('input, select, textarea') ?? byId('t-send')).focus({ preventScroll: true });
}

function accountOf({ appId, appEnvId, alertId, contactPointId }) {
  const { apps, environments, alerts, contactPoints } = tables;
  const row = apps.get(appId) ?? environments.get(appEnvId) ?? alerts.get(alertId) ?? contactPoints.get(contactPointId);
  return row?.accountId;
}

/** Finds a token for an account: the selected one if it is a member of the account, else the user token with the most rights. */
function tokenFor(accountId) {
  const now = byId('t-token').value;
  const own = rowsOf('memberships').filter((member) => member.accountId === accountId);
  if (own.some(({ token }) => token === now)) return now;
  const able = own.filter(({ token }) => tables.tokens.get(token)?.kind === 'user');
  const rights = ({ role, permissions }) => (role === 'admin' ? 10 : 0) + permissions.length;
  return able.sort((a, b) => rights(b) - rights(a))[0]?.token ?? now;
}

/** Selects the token with which requests are sent. */
export function useToken(token) {
  byId('t-token').value = token;
  say(`Requests are sent as ${token}`);
  void fillAnew();
}

function drawTokens() {
  const select = byId('t-token');
  const before = select.value;
  const members = groups('memberships', 'token');
  const options = rowsOf('tokens').map(({ id, kind }) => {
    const own = members.get(id) ?? [];
    const roles = own.map(({ role, accountId }) => `${role} of ${tables.accounts.get(accountId)?.name ?? accountId}`);
    const about = listed(...roles, kind === 'environment' && 'environment token');
    return option(id, `${id} – ${about || 'no membership'}`);
  });
  select.replaceChildren(...options, option('', 'no token'));
  if (tables.tokens.has(before)) select.value = before;
}

async function openForm(name, given = {}) {
  form = formsByName.get(name);
  chosen = given;
  await fillIn();
}

/** Fills in all fields again, except those that the user chose and `isKept` accepts. */
async function fillAnew(isKept = () => false) {
  const kept = form.fields.filter((field) => field.name in chosen && isKept(field));
  chosen = Object.fromEntries(kept.map(({ name }) => [name, chosen[name]]));
  await fillIn();
}

let asking = 0;
/** Settles when the fields are filled in; no request is sent before that. */
let filling = Promise.resolve();

/** Fills in the fields that the user has not chosen. */
function fillIn() {
  filling = fillFrom(form, byId('t-token').value);
  return filling;
}

async function fillFrom({ method, path }, token) {
  asking += 1;
  const mine = asking;
  byId('try-form').setAttribute('aria-busy', 'true');
  try {
    const filled = await ask('POST', '/forms', { method, path, given: chosen, ...(token === '' ? {} : { token }) });
    if (mine !== asking) return;
    draft = { path: { id: filled.id }, query: filled.query, body: filled.body };
    ({ choices, lacks } = filled);
    byId('t-note').textContent = '';
    drawForm();
  } catch (error) {
    say(`The request could not be filled in: ${error.message}`);
  }
  if (mine === asking) byId('try-form').removeAttribute('aria-busy');
}

function drawForm() {
  byId('t-token').disabled = isControl();
  byId('t-token-note').hidden = !isControl();
  byId('t-body-label').hidden = !carriesBody();
  byId('t-send').textContent = form.method === 'DELETE' ? 'Send and delete' : 'Send';
  drawLacks();
  drawFields();
  writeBody();
}

const makers = {
  accounts: ['an account', 'POST /_sim/accounts'],
  alerts: ['an alert', 'POST /app-env/alert'],
  apps: ['an app', 'POST /app'],
  configurations: ['a protection', 'POST /disaster-readiness/configure'],
  contactPoints: ['a contact point', 'POST /contact-point'],
  credentials: ['a credential', 'POST /_sim/credentials'],
  environments: ['an environment', 'POST /_sim/environments'],
  faults: ['a fault', 'POST /_sim/faults'],
  memberships: ['a token', 'POST /_sim/tokens'],
  tokens: ['a token', 'POST /_sim/tokens'],
};

function drawLacks() {
  byId('t-lacks').hidden = lacks.length === 0;
  byId('t-lacks').replaceChildren(
    ...lacks.flatMap((pick) => {
      const [what, name] = makers[pick] ?? [pick];
      const go = button(`Make ${what}`, `make ${pick}`, () => openRequest(name), { class: 'quiet' });
      const suits = tables[pick].size > 0 ? ' that suits' : '';
      return [`This needs ${what}${suits}, and there is none yet. `, name ? go : ''];
    }),
  );
}

/** Redraws the fields, and keeps the focus in the field where the user is typing. */
function drawFields() {
  const held = byId('t-fields').contains(document.activeElement) ? document.activeElement.dataset.field : undefined;
  const shown = form.fields.filter((field) => field.isRequired || valueOfField(field) !== undefined);
  const about = { choices, accountId: isControl() ? undefined : accountNow() };
  const nodes = shown.map((field) => {
    const changed = (value, isDone) => change(field, value, isDone);
    return fieldNode(field, valueOfField(field), about, changed);
  });
  byId('t-fields').replaceChildren(...nodes);
  const more = form.fields.filter((field) => !shown.includes(field));
  byId('t-more-label').hidden = more.length === 0;
  const names = more.map(({ name }) => option(name, name.replaceAll('/', '.')));
  byId('t-more').replaceChildren(option('', 'Add a field…'), ...names);
  if (held !== undefined) byId(`t-field-${held}`)?.focus();
}

function accountNow() {
  const named = draft.query.accountId ?? draft.body?.accountId;
  return named ?? tables.tokens.get(byId('t-token').value)?.currentAccountId;
}

/** Finds the value of a field in the path, the query or the body. */
const valueOfField = (field) => field.name.split('/').reduce((into, step) => into?.[step], draft[partOf(field)]);

/** Sets the value of a field in the path, the query or the body; undefined removes the field. */
function setField(field, value) {
  const part = partOf(field);
  draft[part] = put(draft[part] ?? {}, field.name.split('/'), value);
}

function put(into, [step, ...rest], value) {
  const inside = rest.length === 0 ? value : put(into?.[step] ?? {}, rest, value);
  if (/^\d+$/.test(step)) return Object.assign(Array.isArray(into) ? [...into] : [], { [step]: inside });
  const { [step]: _before, ...others } = into ?? {};
  const isEmpty = value === undefined && rest.length > 0 && JSON.stringify(inside) === '{}';
  return inside === undefined || isEmpty ? others : { ...into, [step]: inside };
}

function change(field, value, isDone) {
  const before = valueOfField(field);
  setField(field, value);
  writeBody();
  if (value === undefined) delete chosen[field.name];
  else chosen = { ...chosen, [field.name]: value };
  if (!isDone) return;
  const followers = form.fields.filter(({ follows }) => follows?.includes(field.name));
  if (followers.length > 0 || (field.name === 'accountId' && before !== value)) {
    for (const { name } of followers) delete chosen[name];
    void fillIn();
  } else if (value === undefined) drawFields();
}

const blanks = { text: '', number: 0, flag: true, list: [], json: {} };

function addField() {
  const field = form.fields.find(({ name }) => name === byId('t-more').value);
  if (field === undefined) return;
  const first = field.words?.[0] ?? choices[field.name]?.[0]?.value ?? (field.pick && rowsOf(field.pick)[0]?.id);
  change(field, field.kind === 'text' ? (first ?? '') : blanks[field.kind], false);
  drawFields();
  byId(`t-field-${field.name}`)?.focus();
}

/** Takes the body that the user wrote as the body of the request. A text that is not JSON is sent unchanged. */
function takeBody() {
  try {
    draft.body = JSON.parse(byId('t-body').value);
    byId('t-note').textContent = '';
    drawFields();
  } catch {
    byId('t-note').textContent = 'This is not JSON. It is sent as it stands.';
  }
  drawCurl();
}

function writeBody() {
  byId('t-body').value = carriesBody() ? JSON.stringify(draft.body ?? {}, undefined, 2) : '';
  drawCurl();
}

/** Makes the request to send from what the user wrote. */
function requestNow() {
  const { id = '' } = draft.path;
  const token = byId('t-token').value;
  const asked = new URLSearchParams(draft.query).toString();
  const path = `${isControl() ? '' : '/api/public/v1'}${form.path.replace(':id', encodeURIComponent(id))}`;
  const text = carriesBody() ? byId('t-body').value : '';
  const headers = {
    ...(isControl() || token === '' ? {} : { authorization: token }),
    ...(text === '' ? {} : { 'content-type': 'application/json' }),
  };
  return { method: form.method, url: `${path}${asked && `?${asked}`}`, headers, text, isControl: isControl() };
}

const quoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

function drawCurl() {
  const { method, url, headers, text } = requestNow();
  const given = Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`);
  const data = text === '' ? [] : [`-d ${quoted(indented(text, 0))}`];
  const how = method === 'GET' ? [] : [`-X ${method}`];
  byId('t-curl').textContent = ['curl -sS', ...how, quoted(location.origin + url), ...given, ...data].join(' ');
}

async function copy() {
  await navigator.clipboard.writeText(byId('t-curl').textContent);
  say('Copied');
}

async function sendIt() {
  await filling;
  await sendAndShow(requestNow());
}
