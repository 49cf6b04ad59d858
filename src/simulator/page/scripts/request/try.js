// Try a request: a token, a route with its fields filled in from the world, and what comes of sending it.
import { nothingSentYet, sendAndShow } from './answer.js';
import { addressOf, bodyTextOf, curlOf, headersOf, isControl, valueOfField, withField } from './draft.js';
import { button, byId, el, on, onSubmit, say } from '../base/elements.js';
import { fieldNode } from './fields.js';
import { drawOn } from '../base/schedule.js';
import { rowsOf, tables, view } from '../base/state.js';
import { ask } from '../base/sync.js';

const formsByName = new Map();
let form;
let draft = { id: undefined, query: {}, body: undefined };
let choices = {};
let lacks = [];
/** The fields that somebody chose: they stay as they are when others are filled in. */
let chosen = {};

let epoch = '';

const nameOfForm = ({ method, path }) => `${method} ${path}`;

export function prepareRequest(all) {
  for (const each of all) formsByName.set(nameOfForm(each), each);
  byId('t-route').append(
    ...[...Map.groupBy(all, ({ area }) => area)].map(([area, inIt]) =>
      el(
        'optgroup',
        { label: area },
        ...inIt.map((each) => el('option', { value: nameOfForm(each) }, `${nameOfForm(each)} – ${each.does}`)),
      ),
    ),
  );
  on('t-route', 'change', () => openForm(byId('t-route').value));
  on('t-token', 'change', () => fillAnew(() => false));
  on('t-body', 'input', takeBody);
  on('t-again', 'click', () => fillAnew(({ pick }) => pick !== undefined));
  on('t-more', 'change', addField);
  on('t-copy', 'click', copy);
  onSubmit('try-form', sendIt);
  drawOn(['world', 'tokens', 'memberships', 'accounts'], drawTokens);
  drawOn(['world'], startInAnotherWorld);
  drawOn(['accounts', 'apps', 'environments', 'contactPoints', 'alerts', 'configurations'], fillWhatLacked);
  drawTokens();
  epoch = view.epoch;
  nothingSentYet();
  void openForm('GET /apps');
}

/** Opens a request with some of its fields chosen, and goes there. */
export async function openRequest(name, given = {}) {
  const accountId = given.accountId ?? accountOf(given);
  if (accountId !== undefined) useToken(tokenFor(accountId), true);
  byId('t-route').value = name;
  await openForm(name, given);
  byId('try').scrollIntoView({ block: 'start' });
  (byId('t-fields').querySelector('input, select, textarea') ?? byId('t-send')).focus({ preventScroll: true });
}

function accountOf(given) {
  const { apps, environments, alerts, contactPoints } = tables;
  const { appId, appEnvId, alertId, contactPointId } = given;
  const row = apps.get(appId) ?? environments.get(appEnvId) ?? alerts.get(alertId) ?? contactPoints.get(contactPointId);
  return row?.accountId;
}

/** A token that may act in an account: the chosen one where it can, else the admin with the most rights. */
function tokenFor(accountId) {
  const now = byId('t-token').value;
  const own = rowsOf('memberships').filter((member) => member.accountId === accountId);
  if (own.some(({ token }) => token === now)) return now;
  const able = own.filter(({ token }) => tables.tokens.get(token)?.kind === 'user');
  const rights = ({ role, permissions }) => (role === 'admin' ? 10 : 0) + permissions.length;
  return able.sort((a, b) => rights(b) - rights(a))[0]?.token ?? now;
}

/** Sends requests with this token from now on. */
export function useToken(token, isQuiet = false) {
  if (byId('t-token').value === token) return;
  byId('t-token').value = token;
  if (isQuiet) return;
  say(`Requests are sent as ${token}`);
  void fillAnew(() => false);
}

function drawTokens() {
  const before = byId('t-token').value;
  const options = rowsOf('tokens').map((token) => {
    const own = rowsOf('memberships').filter((member) => member.token === token.id);
    const roles = own.map(({ role, accountId }) => `${role} of ${tables.accounts.get(accountId)?.name ?? accountId}`);
    const about = [...roles, token.kind === 'environment' && 'environment token'].filter(Boolean).join(', ');
    return el('option', { value: token.id }, `${token.id} – ${about || 'no membership'}`);
  });
  byId('t-token').replaceChildren(...options, el('option', { value: '' }, 'no token'));
  const isThere = [...byId('t-token').options].some(({ value }) => value === before);
  byId('t-token').value = isThere && before !== '' ? before : (byId('t-token').options[0]?.value ?? '');
}

async function openForm(name, given = {}) {
  form = formsByName.get(name);
  chosen = given;
  draft = { id: undefined, query: {}, body: undefined };
  await fillIn();
}

/** Fills in again every field that was not chosen, and chosen ones that need not be kept. */
async function fillAnew(isKept) {
  const kept = form.fields.filter((field) => field.name in chosen && isKept(field));
  chosen = Object.fromEntries(kept.map(({ name }) => [name, chosen[name]]));
  await fillIn();
}

/** Another world was loaded: forget all choices and answers. */
function startInAnotherWorld() {
  if (epoch === view.epoch) return;
  epoch = view.epoch;
  nothingSentYet();
  void fillAnew(() => false);
}

function fillWhatLacked() {
  if (lacks.length > 0) void fillIn();
}

let asking = 0;
/** Until the fields are filled in nothing is sent. */
let filling = Promise.resolve();

/** Fills in what nobody chose. */
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
    draft = { id: idIn(filled.path), query: filled.query, body: filled.body };
    ({ choices, lacks } = filled);
    byId('t-body').value = bodyTextOf(form, draft);
    byId('t-note').textContent = '';
    drawForm();
  } catch (error) {
    say(`The request could not be filled in: ${error.message}`);
  }
  if (mine === asking) byId('try-form').removeAttribute('aria-busy');
}

function idIn(path) {
  const [before, after] = form.path.split(':id');
  if (after === undefined) return undefined;
  const id = decodeURIComponent(path.slice(before.length, path.length - after.length));
  return id === ':id' ? undefined : id;
}

function drawForm() {
  const control = isControl(form);
  byId('t-token').disabled = control;
  byId('t-token-note').hidden = !control;
  byId('t-body-label').hidden = form.method === 'GET' || form.method === 'DELETE';
  byId('t-send').textContent = form.method === 'DELETE' ? 'Send and delete' : 'Send';
  drawLacks();
  drawFields();
  drawAddress();
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

/** Redraws the fields, but leaves them alone while somebody is in one of them. */
function drawFields() {
  const held = byId('t-fields').contains(document.activeElement) ? document.activeElement.dataset.field : undefined;
  const isSent = (field) => valueOfField(form, draft, field) !== undefined;
  const shown = form.fields.filter((field) => field.isRequired || isSent(field));
  const about = { choices, accountId: isControl(form) ? undefined : accountNow() };
  byId('t-fields').replaceChildren(
    ...shown.map((field) =>
      fieldNode(field, valueOfField(form, draft, field), about, (value, isDone) => change(field, value, isDone)),
    ),
  );
  const more = form.fields.filter((field) => !shown.includes(field));
  byId('t-more-label').hidden = more.length === 0;
  byId('t-more').replaceChildren(
    el('option', { value: '' }, 'Add a field…'),
    ...more.map(({ name }) => el('option', { value: name }, name.replaceAll('/', '.'))),
  );
  if (held !== undefined) byId(`t-field-${held}`)?.focus();
}

function accountNow() {
  const named = draft.query.accountId ?? draft.body?.accountId;
  return named ?? tables.tokens.get(byId('t-token').value)?.currentAccountId;
}

function change(field, value, isDone) {
  const before = valueOfField(form, draft, field);
  draft = withField(form, draft, field, value);
  byId('t-body').value = bodyTextOf(form, draft);
  if (value === undefined) delete chosen[field.name];
  else chosen = { ...chosen, [field.name]: value };
  drawAddress();
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
  const value = field.kind === 'text' ? (first ?? '') : blanks[field.kind];
  change(field, value, false);
  drawFields();
  byId(`t-field-${field.name}`)?.focus();
}

/** The body as somebody wrote it: it is sent as it stands, whatever it is. */
function takeBody() {
  try {
    draft = { ...draft, body: JSON.parse(byId('t-body').value) };
    byId('t-note').textContent = '';
    drawFields();
  } catch {
    byId('t-note').textContent = 'This is not JSON. It is sent as it stands.';
  }
  drawAddress();
}

const textNow = () => (byId('t-body-label').hidden ? '' : byId('t-body').value);

function drawAddress() {
  byId('t-curl').textContent = curlOf(form, draft, byId('t-token').value, textNow());
}

async function copy() {
  drawAddress();
  try {
    await navigator.clipboard.writeText(byId('t-curl').textContent);
    say('Copied');
  } catch {
    byId('t-curl').closest('details').open = true;
    getSelection().selectAllChildren(byId('t-curl'));
    say('Press Ctrl+C to copy it');
  }
}

async function sendIt() {
  await filling;
  const text = textNow();
  const token = byId('t-token').value;
  drawAddress();
  await sendAndShow({
    method: form.method,
    url: addressOf(form, draft),
    headers: headersOf(form, token, text),
    text,
    isControl: isControl(form),
  });
}
