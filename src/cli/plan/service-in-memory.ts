/**
 * Plays the service during a plan. Answers each read as the real service would if it had carried out the calls of the
 * plan. These calls only change data in memory: a new item gets an id that begins with `new-`, and a deployment
 * succeeds at once. Details that the documentation of the service leaves open are not made up.
 */
import { isRecord, recordsIn } from '../../base/json.ts';
import type { Read, Request } from '../../engine/ports.ts';
import { get, unwrapped } from '../../hosting/api/endpoint.ts';
import { databasePresetsOf, solutionsOf } from '../../hosting/requests.ts';
import type { Wire, WireFailure } from '../../hosting/wire/wire.ts';
import { itemsRead, type AccountReader, type AccountReading } from '../account/reader.ts';

type Item = Readonly<Record<string, unknown>>;
type Query = Readonly<Record<string, string>>;

type ShelfName = 'app' | 'environment' | 'contactPoint' | 'alert' | 'member' | 'configuration';

/**
 * Describes one type of item in the service: the path of the list of items, the path of a single item, and the names of
 * the fields that hold the list and the id.
 */
interface Shelf {
  /** The path of the request that lists the items; empty if the service has no such list. */
  readonly list: string;
  readonly field: string;
  readonly single?: string;
  readonly id: string;
  /**
   * True if the list lacks fields that a plan needs, so that a read of one item must ask the real service. For other
   * types, the item in the list answers such a read, so that a plan does not read the settings of a listed contact
   * point, which hold secrets.
   */
  readonly isListedInPart?: true;
}

const shelves: Readonly<Record<ShelfName, Shelf>> = {
  app: { list: '/apps', field: 'apps', single: '/app', id: 'appId', isListedInPart: true },
  environment: { list: '/app-envs', field: 'appEnvs', id: 'appEnvId' },
  contactPoint: { list: '/contact-points', field: 'contactPoints', single: '/contact-point', id: 'contactPointId' },
  alert: { list: '/app-env/alerts', field: 'alerts', single: '/alert', id: 'alertId' },
  member: { list: '', field: '', single: '/member/env-access', id: 'membershipId' },
  configuration: { list: '/disaster-readiness/configurations', field: 'items', id: 'configurationId' },
};

/** The beginning of every id that a plan makes up. */
const newPrefix = 'new-';
const prefix = '/api/public/v1';

/** True if a plan has made up this id. The service does not know such an id. */
export function isNewId(id: unknown): boolean {
  return typeof id === 'string' && id.startsWith(newPrefix);
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

type Reply = Answer | WireFailure;

/**
 * Answers requests as the service would, from the data that was read from the service and the earlier calls of this
 * plan.
 */
export class ServiceInMemory {
  readonly #reader: AccountReader;
  readonly #wallMs: () => number;
  readonly #environmentsOf: (app: string) => readonly Item[];
  /**
   * What the calls of this plan have changed, by type and id of the item. The value is the whole item if a call creates
   * the item, the changed fields if a call changes it, and undefined if a call deletes it.
   */
  readonly #kept = new Map<string, Item | undefined>();
  /** The messages of failed reads of the real service. */
  readonly failures = new Set<string>();
  readonly #underWay = new Set<Promise<unknown>>();
  #count = 0;

  /**
   * Creates a service in memory. `environmentsOf` returns the environments that a new database app gets. The caller
   * provides it, because the documentation of the service does not say how these environments are named.
   */
  constructor(reader: AccountReader, wallMs: () => number, environmentsOf: (app: string) => readonly Item[]) {
    this.#reader = reader;
    this.#wallMs = wallMs;
    this.#environmentsOf = environmentsOf;
  }

  /** Waits until every read that is under way is answered; returns false if none was under way. */
  async answered(): Promise<boolean> {
    if (this.#underWay.size === 0) return false;
    await Promise.all(this.#underWay);
    return true;
  }

  /**
   * Answers the HTTP requests that the engine sends. Only reads may reach the real service, through the reader of the
   * account.
   */
  readonly wire: Wire = async (request) => {
    const stopped = request.start();
    if (stopped !== undefined) return { failed: 'connection', message: stopped };
    const { pathname, searchParams } = new URL(request.path, 'https://service.invalid');
    const path = pathname.slice(pathname.indexOf(prefix) + prefix.length);
    const query = Object.fromEntries(searchParams);
    const body = request.body === undefined ? {} : (JSON.parse(request.body) as Item);
    const reply = await (request.method === 'GET'
      ? this.#get(path, query)
      : this.#change(`${request.method} ${path}`, { ...query, ...body }));
    if ('failed' in reply) return reply;
    // Each response has a Date header: the engine reads the service's time there, and needs it for recovery requests.
    const headers = { 'content-type': 'application/json', date: new Date(this.#wallMs()).toUTCString() };
    return { status: reply.status, headers, text: JSON.stringify(reply.body) };
  };

  /** Returns the item of the service that a call changes, in its state before the call. */
  async itemOf({ endpoint, query = {}, body = {} }: Request): Promise<Item | undefined> {
    if (endpoint === 'POST /disaster-readiness/configure') return this.#settingsOf(configuredBy(body));
    const name = shelfOf(endpoint);
    const id = name === undefined ? undefined : { ...query, ...body }[shelves[name].id];
    if (name === undefined || typeof id !== 'string') return undefined;
    return (await this.#find(name, id)) ?? (name === 'environment' ? {} : undefined);
  }

  #get(path: string, query: Query): Promise<Reply> | Reply {
    for (const [name, shelf] of Object.entries(shelves) as [ShelfName, Shelf][]) {
      if (path === shelf.single) return this.#single(name, query);
      if (path === shelf.list) return this.#list(name, query);
    }
    if (path === '/disaster-readiness/points' && isNewId(query['configurationId']))
      return done({ generation: 1, items: [] });
    return this.#base(path, query);
  }

  /**
   * Answers a read with the response of the real service. If that read failed, returns an HTTP status or a failed
   * connection, depending on the reason.
   */
  async #base(path: string, query: Query): Promise<Reply> {
    const reading = await this.#ask(get(path, query));
    if (reading.is === 'answered') return reading;
    const statuses: Readonly<Record<string, number>> = { forbidden: 403, unauthorized: 401, refused: 400 };
    const status = statuses[reading.why];
    return status === undefined
      ? { failed: 'connection', message: withoutEndpoint(reading.message) }
      : { status, body: {} };
  }

  async #ask(request: Request): Promise<AccountReading> {
    const asking = this.#reader.read(request);
    this.#underWay.add(asking);
    try {
      const reading = await asking;
      if (reading.is === 'failed') this.failures.add(reading.message);
      return reading;
    } finally {
      this.#underWay.delete(asking);
    }
  }

  async #itemsOf<One>({ first, items }: Read<One>): Promise<readonly One[]> {
    const reading = await this.#ask(first);
    return (reading.is === 'answered' ? items(reading.body) : undefined) ?? [];
  }

  async #single(name: ShelfName, query: Query): Promise<Reply> {
    const shelf = shelves[name];
    const id = query[shelf.id] ?? '';
    const isKept = this.#kept.has(`${name}/${id}`);
    const kept = this.#kept.get(`${name}/${id}`);
    if (isKept && (isNewId(id) || kept === undefined)) return answerOf(kept);
    const listed = shelf.isListedInPart === true ? undefined : this.#listed(name).find((item) => item[shelf.id] === id);
    const base = listed === undefined ? await this.#base(shelf.single ?? '', query) : done(listed);
    if (!isKept || 'failed' in base || base.status !== 200) return base;
    return done(this.#withChanges(name, itemIn(base.body), id));
  }

  async #list(name: ShelfName, query: Query): Promise<Reply> {
    const { list, field } = shelves[name];
    const base = Object.values(query).some(isNewId) ? done({ [field]: [] }) : await this.#base(list, query);
    if ('failed' in base || base.status !== 200 || !isRecord(base.body) || !Array.isArray(base.body[field]))
      return base;
    const listed = (base.body[field] as readonly unknown[]).flatMap((entry) =>
      isRecord(entry) ? (this.#withChanges(name, entry) ?? []) : [entry],
    );
    const isLast = (base.body['nextCursor'] ?? '') === '';
    return done({ ...base.body, [field]: [...listed, ...(isLast ? this.#made(name, query) : [])] });
  }

  /** Lists the items that calls of this plan create and that match the query of a list request. */
  #made(name: ShelfName, query: Query): readonly Item[] {
    const made = [...this.#kept].filter(([key]) => key.startsWith(`${name}/${newPrefix}`));
    const items = made.map(([, item]) => item).filter((item) => item !== undefined);
    return items.filter((item) => Object.entries(query).every(([field, value]) => (item[field] ?? value) === value));
  }

  /**
   * Returns an item of the service as the calls of this plan change it; undefined if one of these calls deletes the
   * item.
   */
  #withChanges(name: ShelfName, read: Item, id = read[shelves[name].id]): Item | undefined {
    const key = `${name}/${String(id)}`;
    const changes = this.#kept.get(key);
    return this.#kept.has(key) ? changes && { ...read, ...changes } : read;
  }

  /** Lists the items of one type as the real service returned them. */
  #listed(name: ShelfName): readonly Item[] {
    return itemsRead(this.#reader, shelves[name].list, shelves[name].field);
  }

  async #find(name: ShelfName, id: string): Promise<Item | undefined> {
    const { accountId } = this.#reader;
    if (shelves[name].single === undefined) return this.#all(name).find((item) => item[shelves[name].id] === id);
    const reply = await this.#single(name, { [shelves[name].id]: id, ...(name === 'member' && { accountId }) });
    return 'body' in reply && reply.status === 200 ? itemIn(reply.body) : undefined;
  }

  /**
   * Lists the items of one type: those in the lists that were read, as the calls of this plan change them, and those
   * that these calls create.
   */
  #all(name: ShelfName): readonly Item[] {
    const listed = this.#listed(name).map((item) => this.#withChanges(name, item));
    return [...listed.filter((item) => item !== undefined), ...this.#made(name, {})];
  }

  #create(shelf: ShelfName, item: Item): Item {
    const id = this.#newId(shelf);
    const at = new Date(this.#wallMs()).toISOString();
    const made = { ...item, [shelves[shelf].id]: id, createdAt: at, updatedAt: at };
    this.#kept.set(`${shelf}/${id}`, made);
    return made;
  }

  #newId(what: string): string {
    return `${newPrefix}${what}-${(this.#count += 1)}`;
  }

  #merge(shelf: ShelfName, id: string, changes: Item): void {
    const known = this.#kept.get(`${shelf}/${id}`);
    const updatedAt = new Date(this.#wallMs()).toISOString();
    this.#kept.set(`${shelf}/${id}`, { ...known, ...changes, [shelves[shelf].id]: id, updatedAt });
  }

  #remove(shelf: ShelfName, id: string): Answer {
    this.#kept.set(`${shelf}/${id}`, undefined);
    return done({ message: 'deleted' });
  }

  async #change(endpoint: string, given: Item): Promise<Answer> {
    const { config: _neverShown, ...shown } = given;
    const id = (shelf: ShelfName) => textOf(given[shelves[shelf].id]);
    switch (endpoint) {
      case 'POST /app':
        return done({ appId: await this.#createApp(given) });
      case 'PATCH /app': {
        const isCustom = given['customDockerfileContent'] !== undefined;
        this.#merge('app', id('app'), { ...given, ...(isCustom && { customDockerfileContentInUse: true }) });
        return done({ appId: given['appId'], environmentsAffected: 0 });
      }
      case 'DELETE /app':
        return this.#remove('app', id('app'));
      case 'POST /contact-point': {
        const contactPoint = this.#create('contactPoint', { ...shown, dashboardDeployments: [] });
        return done({ message: 'created', contactPoint });
      }
      case 'PATCH /contact-point':
        this.#merge('contactPoint', id('contactPoint'), shown);
        return done({ message: 'changed' });
      case 'DELETE /contact-point':
        return this.#removeContactPoint(id('contactPoint'));
      case 'POST /app-env/alert':
        return done({ message: 'created', alert: this.#create('alert', { ...alertDefaults, ...given }) });
      case 'PATCH /alert':
      case 'POST /alert/toggle':
        this.#merge('alert', id('alert'), given);
        return done({ message: 'changed', enabled: given['enabled'] });
      case 'POST /alert/refresh':
        return done(await this.#stateOf(id('alert')));
      case 'DELETE /alert':
        return this.#remove('alert', id('alert'));
      case 'PATCH /member/env-access': {
        const { membershipId, allowedAppEnvIds } = given;
        this.#merge('member', id('member'), { allowedAppEnvIds });
        return done({ membershipId, allowedAppEnvIds });
      }
      case 'POST /disaster-readiness/configure':
        return this.#configure(given);
      case 'POST /solutions':
        return done(await this.#install(given));
      case 'POST /disaster-readiness/reset':
        return this.#reset(given);
      default:
        return endpoint.startsWith('POST /app-env/') ? this.#deploy(endpoint, given) : this.#receipt(endpoint, given);
    }
  }

  /** Creates an app. A database also gets environments, because the service creates them with a database. */
  async #createApp(body: Item): Promise<unknown> {
    const { appId } = this.#create('app', newApp(body));
    const presets = await this.#itemsOf(databasePresetsOf());
    if (presets.some(({ name }) => name === body['dockerPreset']))
      for (const environment of this.#environmentsOf(textOf(body['name'])))
        this.#createEnvironment({ ...environment, appId });
    return appId;
  }

  #createEnvironment(item: Item): Item {
    return this.#create('environment', { region: '?', ...item, status: 'running' });
  }

  /**
   * Creates the components that the catalog lists for a solution. Each becomes an app with one environment, because the
   * catalog gives only a name and a preset.
   */
  async #install({ installationId, solutionSlug, appName, region }: Item): Promise<Item> {
    if (installationId !== undefined) return { installationId, components: [] };
    const catalog = await this.#itemsOf(solutionsOf(this.#reader.accountId));
    const made = catalog.find((solution) => solution.solutionSlug === solutionSlug)?.components ?? [];
    const components = made.map(({ name, preset: dockerPreset = 'CUSTOM' }) => {
      const { appId } = this.#create('app', newApp({ name: `${name} of ${textOf(appName)}`, dockerPreset }));
      return { name, appId, appEnvId: this.#createEnvironment({ appId, name: '?', region })['appEnvId'] };
    });
    return { installationId: this.#newId('installation'), components };
  }

  /** Deploys, stops or starts an environment. Its status is `running` or `stopped` at once, as if the deployment had ended. */
  #deploy(endpoint: string, { appEnvId }: Item): Answer {
    const status = endpoint.endsWith('/stop') ? 'stopped' : 'running';
    this.#merge('environment', textOf(appEnvId), { status });
    const contentId = this.#newId('content');
    return done({ success: true, message: 'accepted', contentId, appEnv: { appEnvId, status } });
  }

  /** Deletes a contact point, unless an alert uses it. */
  #removeContactPoint(id: string): Answer {
    const uses = this.#all('alert').filter((alert) => usesPoint(alert, id)).length;
    if (uses === 0) return this.#remove('contactPoint', id);
    return {
      status: 400,
      body: { error: 'the contact point is in use', details: `${uses} alerts use the contact point` },
    };
  }

  async #stateOf(alertId: string): Promise<Item> {
    const { lastKnownState: state = 'NoData', lastStateCheck } = (await this.#find('alert', alertId)) ?? {};
    return { state, previousState: state, lastStateCheck };
  }

  #configure(body: Item): Answer {
    const results = recordsIn(body, 'items').map((item) => {
      const { sourceAppEnvId, expectedGeneration, requestId: _request, target, ...own } = item;
      const settings = { ...(body['common'] as Item | undefined), ...own };
      const known = this.#protectionOf(sourceAppEnvId);
      const generation = Number(expectedGeneration) + 1;
      const facts = { sourceAppEnvId, generation, settings, plannedDestination: target };
      const { configurationId } = known ?? this.#create('configuration', facts);
      if (known !== undefined) this.#merge('configuration', textOf(configurationId), facts);
      const operationId = this.#newId('operation');
      return { sourceAppEnvId, success: true, configurationId, operationId, generation, phase: 'queued' };
    });
    return done({ results });
  }

  /** Returns the settings of a protection, with the field names of the request that changes them. */
  #settingsOf({ sourceAppEnvId }: Item): Item | undefined {
    const known = this.#protectionOf(sourceAppEnvId);
    const { settings, warmDestination, plannedDestination } = known ?? {};
    return known && { ...(isRecord(settings) && settings), target: warmDestination ?? plannedDestination };
  }

  #protectionOf(source: unknown): Item | undefined {
    return this.#all('configuration').find(({ sourceAppEnvId }) => sourceAppEnvId === source);
  }

  #reset({ scope, sourceAppEnvId: source }: Item): Answer {
    const all = this.#all('configuration');
    const wiped = all.filter(({ sourceAppEnvId }) => scope === 'account' || sourceAppEnvId === source);
    for (const { configurationId } of wiped) this.#remove('configuration', textOf(configurationId));
    return done({ configurations: wiped.length });
  }

  /**
   * Accepts a recovery request. In a plan, the operation that the request starts never ends, because nobody can know in
   * advance how it would end.
   */
  async #receipt(endpoint: string, body: Item): Promise<Answer> {
    const { configurationId, expectedGeneration: generation } = body;
    const operationId = body['operationId'] ?? this.#newId('operation');
    const id = textOf(configurationId);
    const known = (await this.#find('configuration', id)) ?? {};
    const { activeOperationId = operationId } = known;
    const startedAt = new Date(this.#wallMs()).toISOString();
    this.#merge('configuration', id, {
      // A validation can run while another operation is active. In that case, the other operation stays the active one.
      activeOperationId: endpoint === 'POST /disaster-readiness/validate' ? activeOperationId : operationId,
      ...(body['operationId'] === undefined && {
        activities: [{ operationId, startedAt }, ...recordsIn(known, 'activities')],
      }),
    });
    return done({ operationId, configurationId, generation, phase: 'queued' });
  }
}

/**
 * Returns the settings of the environment that a request protects: the common settings of the request, and the
 * environment's own settings, which win over the common ones.
 */
export function configuredBy(body: Item): Item {
  const { common } = body;
  return { ...(isRecord(common) && common), ...recordsIn(body, 'items')[0] };
}

/** Removes the HTTP method and path from the beginning of a failure message. */
export function withoutEndpoint(message: string): string {
  return message.replace(/^[A-Z]+ \/\S*: /, '');
}

const alertDefaults = { aggregation: 'mean', queryRange: '10m', enabled: true, lastKnownState: 'NoData' };

function done(body: unknown): Answer {
  return { status: 200, body };
}

/** Answers a read of one item: with the item, or with 404 if it is gone. */
function answerOf(item: Item | undefined): Answer {
  return item === undefined ? { status: 404, body: { message: 'not found' } } : done(item);
}

/** Finds the type of item that a call to an endpoint changes; undefined if the plan does not track that type. */
function shelfOf(endpoint: string): ShelfName | undefined {
  const [, path = ''] = endpoint.split(' ');
  if (path === '/app-env/alert' || path.startsWith('/alert')) return 'alert';
  if (path.startsWith('/app-env/')) return 'environment';
  const names = Object.keys(shelves) as ShelfName[];
  return names.find((name) => shelves[name].single === path);
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

/** Returns the item in the body of a response. Some responses hold the item in a field such as `app`. */
function itemIn(body: unknown): Item {
  return { ...(unwrapped(body, 'app', 'contactPoint', 'alert', 'access', 'envAccess', 'member') as Item | undefined) };
}

/** Returns a string unchanged. Returns an empty string for any other value. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
