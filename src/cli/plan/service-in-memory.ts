/**
 * The service's side of a plan: what was read of an account, and on top of it what the plan would have changed so far.
 *
 * Reads are answered with what the service answered, changed items in place of the old ones. Changes are done here only: an
 * item that is created gets an id that begins with `new-`, a deployment takes a while and succeeds, and what the interface
 * leaves open is not made up. Nothing in here reaches the network.
 */
import { isRecord, recordsIn } from '../../base/json.ts';
import type { Request } from '../../engine/ports.ts';
import { databasePresetsOf, solutionsOf } from '../../hosting/requests.ts';
import type { Wire, WireResponse } from '../../hosting/wire/wire.ts';
import { itemsRead, type AccountReader, type AccountReading } from '../account/reader.ts';

type Item = Readonly<Record<string, unknown>>;
type Query = Readonly<Record<string, string>>;

/** One kind of item of the service: how its list, its single read and its id are called. */
interface Shelf {
  readonly list: string;
  readonly field: string;
  readonly single: string | undefined;
  readonly id: string;
  /** What a list may be narrowed by. */
  readonly by: readonly string[];
}

const shelves = {
  app: { list: '/apps', field: 'apps', single: '/app', id: 'appId', by: [] },
  environment: { list: '/app-envs', field: 'appEnvs', single: undefined, id: 'appEnvId', by: ['appId'] },
  contactPoint: {
    list: '/contact-points',
    field: 'contactPoints',
    single: '/contact-point',
    id: 'contactPointId',
    by: [],
  },
  alert: { list: '/app-env/alerts', field: 'alerts', single: '/alert', id: 'alertId', by: ['appEnvId'] },
  member: { list: '', field: '', single: '/member/env-access', id: 'membershipId', by: [] },
  configuration: {
    list: '/disaster-readiness/configurations',
    field: 'items',
    single: undefined,
    id: 'configurationId',
    by: [],
  },
} as const satisfies Record<string, Shelf>;

type ShelfName = keyof typeof shelves;

/** How an item made in this run is recognised. */
const newPrefix = 'new-';
/** The length of a deployment in a plan; the plan's own times count requests only. */
const deploymentMs = 20_000;
const prefix = '/api/public/v1';

/** True for an id that only this run knows. */
export function isNewId(id: unknown): boolean {
  return typeof id === 'string' && id.startsWith(newPrefix);
}

/** An item of the service as it stands at one moment of the run. */
interface Kept {
  /** Undefined where it was deleted. */
  readonly item: Item | undefined;
  readonly isNew: boolean;
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** A service in memory on top of what was read. */
export class ServiceInMemory {
  readonly #reader: AccountReader;
  readonly #wallMs: () => number;
  readonly #kept = new Map<string, Kept>();
  readonly #settlesAt = new Map<string, { readonly at: number; readonly status: string }>();
  readonly #failures = new Map<string, Extract<AccountReading, { is: 'failed' }>>();
  readonly #listedAlerts = new Map<string, Item>();
  #count = 0;
  #underWay = new Set<Promise<unknown>>();

  readonly #environmentsOf: (app: string) => readonly Item[];

  /** `environmentsOf` tells the environments that are expected of a new database by its name: the interface names none. */
  constructor(reader: AccountReader, wallMs: () => number, environmentsOf: (app: string) => readonly Item[]) {
    this.#reader = reader;
    this.#wallMs = wallMs;
    this.#environmentsOf = environmentsOf;
  }

  /** Reads that have no answer to go by, in the order of their addresses. */
  get failures(): readonly Extract<AccountReading, { is: 'failed' }>[] {
    return [...this.#failures].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, failure]) => failure);
  }

  /** Resolves when every read that is under way has its answer; false where there was none. */
  async answered(): Promise<boolean> {
    if (this.#underWay.size === 0) return false;
    await Promise.all(this.#underWay);
    return true;
  }

  /** A wire to this service in memory; nothing reaches the network. */
  readonly wire: Wire = async (request) => {
    const stopped = request.start();
    if (stopped !== undefined) return { failed: 'connection', message: stopped };
    const answer = await this.#answer(request);
    if (!('status' in answer)) return answer;
    // Requests of recovery ask the service what time it is.
    return { ...answer, headers: { ...answer.headers, date: new Date(this.#wallMs()).toUTCString() } };
  };

  async #answer(request: Parameters<Wire>[0]): Promise<WireResponse | { failed: 'connection'; message: string }> {
    const { pathname, searchParams } = new URL(request.path, 'https://service.invalid');
    const path = pathname.slice(pathname.indexOf(prefix) + prefix.length);
    const query = Object.fromEntries(searchParams);
    if (request.method === 'GET') return this.#get(path, query);
    const body = request.body === undefined ? {} : (JSON.parse(request.body) as Item);
    return responseOf(await this.#change(`${request.method} ${path}`, query, body));
  }

  /** The item that a call is about, as the service shows it at this moment. */
  async itemOf({ endpoint, query = {}, body = {} }: Request): Promise<Item | undefined> {
    const named = { ...query, ...body } as Readonly<Record<string, unknown>>;
    if (endpoint === 'POST /disaster-readiness/configure') return this.#settingsOf(configuredBy(body));
    const shelf = shelfOf(endpoint);
    if (shelf === undefined) return undefined;
    const id = named[shelves[shelf].id];
    return typeof id === 'string' ? this.#find(shelf, id, named) : undefined;
  }

  async #get(path: string, query: Query): Promise<WireResponse | { failed: 'connection'; message: string }> {
    for (const [name, shelf] of Object.entries(shelves) as [ShelfName, Shelf][]) {
      if (path === shelf.single) return this.#single(name, shelf, path, query);
      if (path === shelf.list && shelf.list !== '') return this.#list(name, shelf, path, query);
    }
    const configurationId = query['configurationId'];
    if (path === '/disaster-readiness/points' && isNewId(configurationId))
      return responseOf({ status: 200, body: { generation: 1, items: [] } });
    return this.#base(path, query);
  }

  /** Answers of the service, as they were read. */
  async #base(path: string, query: Query): Promise<WireResponse | { failed: 'connection'; message: string }> {
    const reading = await this.#ask(path, query);
    if (reading.is === 'answered') return responseOf(reading);
    const statuses = { forbidden: 403, unauthorized: 401, refused: 400 } as const;
    const { why, message } = reading;
    if (why === 'forbidden' || why === 'unauthorized' || why === 'refused')
      return responseOf({ status: statuses[why], body: {} });
    return { failed: 'connection', message: withoutEndpoint(message) };
  }

  async #ask(path: string, query: Query): Promise<AccountReading> {
    const asking = this.#reader.read({ endpoint: `GET ${path}`, method: 'GET', path, query, effect: 'read' });
    this.#underWay.add(asking);
    try {
      const reading = await asking;
      if (reading.is === 'failed') this.#failures.set(`${path} ${JSON.stringify(query)}`, reading);
      return reading;
    } finally {
      this.#underWay.delete(asking);
    }
  }

  async #single(name: ShelfName, shelf: Shelf, path: string, query: Query) {
    const id = query[shelf.id] ?? '';
    const kept = this.#kept.get(`${name}/${id}`);
    if (kept?.item === undefined && kept !== undefined) return responseOf(gone);
    if (kept?.item !== undefined && kept.isNew) return responseOf({ status: 200, body: this.#now(name, kept.item) });
    const listed = name === 'alert' ? this.#listedAlert(id) : undefined;
    const base = listed === undefined ? await this.#base(path, query) : responseOf({ status: 200, body: listed });
    if (kept?.item === undefined || !('status' in base) || base.status !== 200) return base;
    const before = bodyIn(base);
    return responseOf({ status: 200, body: { ...unwrapped(before), ...this.#now(name, kept.item) } });
  }

  async #list(name: ShelfName, shelf: Shelf, path: string, query: Query) {
    const isOfNew = shelf.by.some((field) => isNewId(query[field]));
    const base = isOfNew ? responseOf({ status: 200, body: { [shelf.field]: [] } }) : await this.#base(path, query);
    if (!('status' in base) || base.status !== 200) return base;
    const body = bodyIn(base);
    if (!isRecord(body) || !Array.isArray(body[shelf.field])) return base;
    const isLast = typeof body['nextCursor'] !== 'string' || body['nextCursor'] === '';
    const listed = (body[shelf.field] as unknown[]).flatMap((entry) => {
      const id = isRecord(entry) ? entry[shelf.id] : undefined;
      const kept = this.#kept.get(`${name}/${String(id)}`);
      if (kept === undefined || !isRecord(entry)) return [entry];
      return kept.item === undefined ? [] : [{ ...entry, ...this.#now(name, kept.item) }];
    });
    const made = isLast ? this.#made(name, shelf, query) : [];
    return responseOf({ status: 200, body: { ...body, [shelf.field]: [...listed, ...made] } });
  }

  /** Items made in this run that a list would show. */
  #made(name: ShelfName, shelf: Shelf, query: Query): readonly Item[] {
    return [...this.#kept].flatMap(([key, { item, isNew }]) => {
      if (!isNew || item === undefined || !key.startsWith(`${name}/`)) return [];
      const isMeant = shelf.by.every((field) => query[field] === undefined || query[field] === item[field]);
      return isMeant ? [this.#now(name, item)] : [];
    });
  }

  /** An item as of now: what was under way may have come to its end. */
  #now(name: ShelfName, item: Item): Item {
    const settles = name === 'environment' ? this.#settlesAt.get(String(item['appEnvId'])) : undefined;
    if (settles === undefined || settles.at > this.#wallMs()) return item;
    return { ...item, status: settles.status, updatedAt: new Date(settles.at).toISOString() };
  }

  async #find(name: ShelfName, id: string, named: Item): Promise<Item | undefined> {
    const kept = this.#kept.get(`${name}/${id}`);
    if (kept?.item === undefined && kept !== undefined) return undefined;
    if (kept?.isNew === true) return kept.item;
    const listed = name === 'alert' ? this.#listedAlert(id) : undefined;
    if (listed !== undefined) return { ...listed, ...kept?.item };
    const shelf: Shelf = shelves[name];
    const accountId = this.#reader.accountId;
    const [path, query]: [string, Query] =
      shelf.single === undefined
        ? [shelf.list, { accountId, ...(name === 'configuration' && { limit: '100' }) }]
        : [shelf.single, { [shelf.id]: id, ...(name === 'member' && { accountId }) }];
    const reading = await this.#ask(path, query);
    const body = reading.is === 'answered' && reading.status === 200 ? reading.body : undefined;
    const listedIn = recordsIn(body, shelf.field).find((entry) => entry[shelf.id] === id);
    const found = shelf.single === undefined ? listedIn : unwrapped(body);
    return found !== undefined
      ? { ...found, ...kept?.item }
      : (kept?.item ?? (named['appEnvId'] === id ? {} : undefined));
  }

  #create(name: ShelfName, item: Item): Item {
    const id = `${newPrefix}${name}-${(this.#count += 1)}`;
    const at = new Date(this.#wallMs()).toISOString();
    const made = { ...item, [shelves[name].id]: id, createdAt: at, updatedAt: at };
    this.#kept.set(`${name}/${id}`, { item: made, isNew: true });
    return made;
  }

  #merge(name: ShelfName, id: string, changes: Item): void {
    const known = this.#kept.get(`${name}/${id}`);
    const item = {
      ...known?.item,
      ...changes,
      [shelves[name].id]: id,
      updatedAt: new Date(this.#wallMs()).toISOString(),
    };
    this.#kept.set(`${name}/${id}`, { item, isNew: known?.isNew === true });
  }

  #remove(name: ShelfName, id: string): Answer {
    this.#kept.set(`${name}/${id}`, { item: undefined, isNew: false });
    return { status: 200, body: { message: 'deleted' } };
  }

  async #change(endpoint: string, query: Query, body: Item): Promise<Answer> {
    const text = (field: string) => textOf(body[field] ?? query[field]);
    switch (endpoint) {
      case 'POST /app':
        return done({ appId: await this.#createApp(body) });
      case 'PATCH /app':
        this.#merge('app', text('appId'), {
          ...body,
          ...(body['customDockerfileContent'] !== undefined && { customDockerfileContentInUse: true }),
        });
        return done({ appId: body['appId'], environmentsAffected: 0 });
      case 'DELETE /app':
        return this.#remove('app', text('appId'));
      case 'POST /contact-point': {
        const { config: _config, ...shown } = body;
        return done({
          message: 'created',
          contactPoint: this.#create('contactPoint', { ...shown, dashboardDeployments: [] }),
        });
      }
      case 'PATCH /contact-point': {
        const { config: _config, ...shown } = body;
        this.#merge('contactPoint', text('contactPointId'), shown);
        return done({ message: 'changed' });
      }
      case 'DELETE /contact-point':
        return this.#removeContactPoint(text('contactPointId'));
      case 'POST /app-env/alert':
        return done({ message: 'created', alert: this.#create('alert', { ...alertDefaults, ...body }) });
      case 'PATCH /alert':
      case 'POST /alert/toggle':
        this.#merge('alert', text('alertId'), body);
        return done({ message: 'changed', enabled: body['enabled'] });
      case 'POST /alert/refresh':
        return done(await this.#stateOf(text('alertId')));
      case 'DELETE /alert':
        return this.#remove('alert', text('alertId'));
      case 'PATCH /member/env-access':
        this.#merge('member', text('membershipId'), { allowedAppEnvIds: body['allowedAppEnvIds'] });
        return done({ membershipId: body['membershipId'], allowedAppEnvIds: body['allowedAppEnvIds'] });
      case 'POST /disaster-readiness/configure':
        return this.#configure(body);
      case 'POST /solutions':
        return done(await this.#install(body));
      case 'POST /disaster-readiness/reset':
        return this.#reset(body);
      default:
        return endpoint.startsWith('POST /app-env/') ? this.#deploy(endpoint, body) : this.#receipt(endpoint, body);
    }
  }

  /** A new app; the service gives a database its environment, which is under way for a while. */
  async #createApp(body: Item): Promise<unknown> {
    const { appId } = this.#create('app', newApp(body));
    const { first, items } = databasePresetsOf();
    const reading = await this.#ask(first.path, {});
    const presets = reading.is === 'answered' ? (items(reading.body) ?? []) : [];
    if (presets.some(({ name }) => name === body['dockerPreset']))
      for (const environment of this.#environmentsOf(textOf(body['name'])))
        this.#createEnvironment({ ...environment, appId });
    return appId;
  }

  #createEnvironment(item: Item): Item {
    const made = this.#create('environment', { region: '?', ...item, status: 'UPDATING' });
    this.#settlesAt.set(String(made['appEnvId']), { at: this.#wallMs() + deploymentMs, status: 'running' });
    return made;
  }

  /** The components that the catalog names, each an app with an environment. What else is made of them is not known. */
  async #install(body: Item): Promise<Item> {
    const { installationId, solutionSlug, appName, region } = body;
    if (installationId !== undefined) return { installationId, components: [] };
    const { first, items } = solutionsOf(this.#reader.accountId);
    const reading = await this.#ask(first.path, { accountId: this.#reader.accountId });
    const catalog = reading.is === 'answered' ? items(reading.body) : undefined;
    const made = catalog?.find((solution) => solution.solutionSlug === solutionSlug)?.components ?? [];
    const components = made.map(({ name, preset: dockerPreset = 'CUSTOM' }) => {
      const { appId } = this.#create('app', newApp({ name: `${name} of ${textOf(appName)}`, dockerPreset }));
      return { name, appId, appEnvId: this.#createEnvironment({ appId, name: '?', region })['appEnvId'] };
    });
    return { installationId: `${newPrefix}installation-${(this.#count += 1)}`, components };
  }

  /** A deployment, a stop or a start: it is under way for a while, and then at rest. */
  async #deploy(endpoint: string, body: Item): Promise<Answer> {
    const named = textOf(body['appEnvId']);
    const status = endpoint === 'POST /app-env/stop' ? 'stopped' : 'running';
    this.#merge('environment', named, { status: 'UPDATING' });
    this.#settlesAt.set(named, { at: this.#wallMs() + deploymentMs, status });
    const contentId = `${newPrefix}content-${(this.#count += 1)}`;
    return done({ success: true, message: 'accepted', contentId, appEnv: { appEnvId: named, status: 'UPDATING' } });
  }

  /** A contact point that an alert uses is not deleted. */
  #removeContactPoint(id: string): Answer {
    const uses = this.#alertsUsing(id);
    if (uses === 0) return this.#remove('contactPoint', id);
    return { status: 400, body: { error: 'the contact point is in use', details: `${uses} alerts use it` } };
  }

  /** An alert as the list of its environment showed it: a list has every field, so that no alert is asked for by itself. */
  #listedAlert(id: string): Item | undefined {
    if (!this.#listedAlerts.has(id)) this.#lookThroughAlerts();
    return this.#listedAlerts.get(id);
  }

  #lookThroughAlerts(): void {
    for (const alert of itemsRead(this.#reader, shelves.alert.list, shelves.alert.field))
      this.#listedAlerts.set(String(alert['alertId']), alert);
  }

  #alertsUsing(id: string): number {
    this.#lookThroughAlerts();
    const ids = new Set(
      [...this.#listedAlerts].filter(([, alert]) => usesPoint(alert, id)).map(([alertId]) => alertId),
    );
    for (const [key, { item }] of this.#kept) {
      if (!key.startsWith('alert/')) continue;
      const alertId = key.slice('alert/'.length);
      const uses = item !== undefined && ('contactPointIds' in item ? usesPoint(item, id) : ids.has(alertId));
      if (uses) ids.add(alertId);
      else ids.delete(alertId);
    }
    return ids.size;
  }

  async #stateOf(alertId: string): Promise<Item> {
    const alert = await this.#find('alert', alertId, {});
    const state = alert?.['lastKnownState'] ?? 'NoData';
    return { state, previousState: state, lastStateCheck: alert?.['lastStateCheck'] };
  }

  #configure(body: Item): Answer {
    const results = recordsIn(body, 'items').map((item) => {
      const { sourceAppEnvId, expectedGeneration, requestId: _request, target, ...own } = item;
      const settings = { ...(body['common'] as Item | undefined), ...own };
      const known = this.#protectionOf(sourceAppEnvId);
      const generation = Number(expectedGeneration) + 1;
      const facts = { sourceAppEnvId, generation, settings, plannedDestination: target };
      const configurationId = known ?? String(this.#create('configuration', facts)['configurationId']);
      if (known !== undefined) this.#merge('configuration', known, facts);
      const operationId = `${newPrefix}operation-${(this.#count += 1)}`;
      return { sourceAppEnvId, success: true, configurationId, operationId, generation, phase: 'queued' };
    });
    return done({ results });
  }

  /** The settings of a protection, named as the call that sets them names them. */
  async #settingsOf({ sourceAppEnvId }: Item): Promise<Item | undefined> {
    const id = this.#protectionOf(sourceAppEnvId);
    const known = id === undefined ? undefined : await this.#find('configuration', id, {});
    const { settings, warmDestination, plannedDestination } = known ?? {};
    return known && { ...(isRecord(settings) && settings), target: warmDestination ?? plannedDestination };
  }

  #protectionOf(sourceAppEnvId: unknown): string | undefined {
    return [...this.#protections()].find(([, source]) => source === sourceAppEnvId)?.[0];
  }

  /** The source of each protection as of now, by the protection's id. */
  #protections(): ReadonlyMap<string, unknown> {
    const listed = itemsRead(this.#reader, shelves.configuration.list, shelves.configuration.field);
    const found = new Map(listed.map((item) => [String(item['configurationId']), item['sourceAppEnvId']]));
    for (const [key, { item }] of this.#kept) {
      const [shelf, id = ''] = key.split('/');
      if (shelf !== 'configuration') continue;
      if (item === undefined) found.delete(id);
      else if (item['sourceAppEnvId'] !== undefined) found.set(id, item['sourceAppEnvId']);
    }
    return found;
  }

  #reset({ scope, sourceAppEnvId }: Item): Answer {
    const wiped = [...this.#protections()].filter(([, source]) => scope === 'account' || source === sourceAppEnvId);
    for (const [id] of wiped) this.#remove('configuration', id);
    return done({ configurations: wiped.length });
  }

  /** A request of recovery is accepted, and its operation stays under way: how it ends is not known. */
  async #receipt(endpoint: string, body: Item): Promise<Answer> {
    const { configurationId, expectedGeneration: generation } = body;
    const operationId = body['operationId'] ?? `${newPrefix}operation-${(this.#count += 1)}`;
    const id = textOf(configurationId);
    const known = (await this.#find('configuration', id, {})) ?? {};
    const { activeOperationId = operationId } = known;
    const startedAt = new Date(this.#wallMs()).toISOString();
    this.#merge('configuration', id, {
      // A check runs beside the operation of a settled standby.
      activeOperationId: endpoint === 'POST /disaster-readiness/validate' ? activeOperationId : operationId,
      ...(body['operationId'] === undefined && {
        activities: [{ operationId, startedAt }, ...recordsIn(known, 'activities')],
      }),
    });
    return done({ operationId, configurationId, generation, phase: 'queued' });
  }
}

/** The settings in a request to protect one environment. */
export function configuredBy(body: Item): Item {
  const { common } = body;
  return { ...(isRecord(common) && common), ...recordsIn(body, 'items')[0] };
}

/** Why a read failed, without what was read. */
export function withoutEndpoint(message: string): string {
  return message.replace(/^[A-Z]+ \/\S*: /, '');
}

const gone: Answer = { status: 404, body: { message: 'not found' } };
const alertDefaults = { aggregation: 'mean', queryRange: '10m', enabled: true, lastKnownState: 'NoData' };

function done(body: unknown): Answer {
  return { status: 200, body };
}

/** Which items an endpoint is about. */
function shelfOf(endpoint: string): ShelfName | undefined {
  const [, path = ''] = endpoint.split(' ');
  if (path === '/app-env/alert' || path.startsWith('/alert')) return 'alert';
  if (path.startsWith('/app-env/')) return 'environment';
  const names = Object.entries(shelves).find(([, shelf]) => shelf.single === path);
  return names?.[0] as ShelfName | undefined;
}

function newApp(body: Item): Item {
  const { accountId: _account, ...rest } = body;
  return {
    slug: body['name'],
    dockerPreset: 'CUSTOM',
    contextDir: './',
    useImage: false,
    builder: 'DOCKER',
    isCliDeployment: false,
    customDockerfileContentInUse: body['customDockerfileContent'] !== undefined,
    ...rest,
  };
}

function usesPoint(alert: Item, id: string): boolean {
  const ids = alert['contactPointIds'];
  if (Array.isArray(ids)) return ids.includes(id);
  return recordsIn(alert, 'contactPoints').some((point) => point['contactPointId'] === id);
}

/** The object in a body, which may stand under the one name of an object in it. */
function unwrapped(body: unknown): Item | undefined {
  if (!isRecord(body)) return undefined;
  const wrapped = ['app', 'contactPoint', 'alert', 'access', 'envAccess', 'member'].map((name) => body[name]);
  return wrapped.find(isRecord) ?? body;
}

function responseOf({ status, body }: Answer): WireResponse {
  return { status, headers: { 'content-type': 'application/json' }, text: JSON.stringify(body) };
}

function bodyIn({ text = '' }: WireResponse): unknown {
  return JSON.parse(text);
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
