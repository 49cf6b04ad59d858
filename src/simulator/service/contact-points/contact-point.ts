import { type BodyFields, fields, type FieldShape, list, matching, must, onlyFields } from '../../http/fields.ts';
import { type ReadFields, type Reads, text } from '../../http/fields.ts';
import { found, invalid } from '../../http/refusal.ts';
import { collection } from '../../store/collection.ts';
import type { World } from '../../store/store.ts';

/** The `config` of a contact point, such as addresses, keys and channels. */
export type Config = Readonly<Record<string, string | readonly string[]>>;

/** The text that responses show instead of a secret. */
const mask = '****';

const retired = 'retired.example';
const chatHost = 'chat.example.com';

function url(protocols: readonly string[], hostAllowed: (host: string) => boolean): Reads<string> {
  return (value, name) => {
    const given = text({ max: 2000 })(value, name);
    const parsed = URL.canParse(given) ? new URL(given) : undefined;
    if (parsed === undefined || !protocols.includes(parsed.protocol))
      throw invalid(`${name} must be a URL that begins with ${protocols.map((each) => `${each}//`).join(' or ')}`);
    if (!hostAllowed(parsed.hostname.replace(/\.$/, '')))
      throw invalid(`the host of the URL in ${name} is not allowed`);
    return given;
  };
}

const anyUrl = url(['https:', 'http:'], () => true);
const workflowUrl = url(['https:'], (host) => host !== retired && !host.endsWith(`.${retired}`));
const chatUrl = url(['https:'], (host) => host === chatHost);

const emailAddress = matching(/^[^\s@]+@[^\s@]+$/, 'an e-mail address', { max: 320 });
const method = matching(/^(GET|POST|PUT|PATCH|DELETE)$/, 'GET, POST, PUT, PATCH or DELETE');

/** Validates `mentionUsers`. The API documentation does not say whether it is a string or a list of strings, so both are accepted. */
const mentions: Reads<string | readonly string[]> = (value, name) =>
  Array.isArray(value) ? list(text())(value, name) : text({ min: 0 })(value, name);

const anyText = text({ min: 0 });

/** The fields of `config` of each type of contact point, each with the function that validates it. */
export const configFields = {
  chat_webhook_a: { webhookUrl: must(anyUrl), channel: anyText, mentionUsers: mentions },
  chat_webhook_b: { webhookUrl: must(workflowUrl) },
  chat_webhook_c: { webhookUrl: must(chatUrl) },
  incident_service: { integrationKey: must(text()), severity: anyText },
  webhook: { url: must(anyUrl), httpMethod: method, username: anyText, password: anyText },
  email: { addresses: must(list(emailAddress, { min: 1 })) },
} as const satisfies Readonly<Record<string, FieldShape>>;

/**
 * The required secret fields of contact points. PATCH /contact-point keeps the saved secret if the request omits the field or sends an
 * empty or masked value.
 */
const sensitive = ['webhookUrl', 'integrationKey', 'url'];

/** The type of a contact point, such as `email` or `webhook`. */
export type ConfigType = keyof typeof configFields;

/** Lists all types of contact points. */
export const contactPointTypes = Object.keys(configFields) as ConfigType[];

/** Merges changed fields into the saved config of a contact point; a secret that is omitted, empty or masked keeps its saved value. */
export function changedConfig(type: ConfigType, saved: Config, given: BodyFields): Config {
  const isKept = (name: string, value: unknown) =>
    typeof value === 'string' && (isMasked(value) || (value === '' && sensitive.includes(name)));
  onlyFields(given, 'config', Object.keys(configFields[type]));
  const changes = Object.entries(given).filter(([name, value]) => !isKept(name, value));
  return newConfig(type, { ...saved, ...Object.fromEntries(changes) });
}

function isMasked(value: string): boolean {
  return value.includes(mask) || /^[•*]+$/.test(value);
}

/** Validates the whole config of a contact point; drops optional fields that are an empty string. */
export function newConfig(type: ConfigType, given: BodyFields): Config {
  const shape: FieldShape = configFields[type];
  const sent = Object.entries(given).filter(([name, value]) => value !== '' || typeof shape[name] !== 'function');
  return fields(shape)(Object.fromEntries(sent), 'config') as object as Config;
}

/** The fields beside `type` and `config` that POST and PATCH /contact-point both take and responses show. */
export const pointFields = {
  name: text({ max: 50 }),
};

/** A contact point: a destination to which the service delivers alerts. */
export interface ContactPoint extends ReadFields<typeof pointFields> {
  readonly contactPointId: string;
  readonly accountId: string;
  readonly name: string;
  readonly type: ConfigType;
  readonly config: Config;
  /** The regions to which the contact point is deployed. */
  readonly dashboardDeployments: readonly { readonly region: string; readonly dashboardContactPointUid: string }[];
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** All contact points in the simulator's data, indexed by account and by name. */
export const contactPoints = collection<ContactPoint>('contactPoints', (point) => point.contactPointId, {
  account: (point) => point.accountId,
  name: (point) => `${point.accountId}/${point.name}`,
});

/** Finds a contact point by its id; fails with 404 if no contact point has this id. */
export function contactPointNamed(world: World, contactPointId: string): ContactPoint {
  return found(world.of(contactPoints).get(contactPointId), 'contact point not found');
}

/** Sets the regions to which a contact point is deployed; a region that is already in the list keeps its dashboardContactPointUid. */
export function deployedTo(world: World, point: ContactPoint, regions: readonly string[]): ContactPoint {
  const dashboardDeployments = [...new Set(regions)].map((region) => {
    const known = point.dashboardDeployments.find((deployment) => deployment.region === region);
    const dashboardContactPointUid = `dcp_${world.hash(point.contactPointId, region).slice(0, 12)}`;
    return known ?? { region, dashboardContactPointUid };
  });
  return { ...point, dashboardDeployments };
}

const deploymentMs = 2000;

/** The name of the timer that deploys a contact point to a region. */
export const deploys = 'contactPoints.deploys';

/** Schedules the deployment of a contact point to a region, unless this deployment is scheduled already. */
export function deployLater(world: World, contactPointId: string, region: string): void {
  const where = [deploys, `${contactPointId}/${region}`] as const;
  if (!world.isScheduled(...where)) world.schedule(...where, world.now + deploymentMs, { contactPointId, region });
}

/**
 * Schedules the deployment of a contact point to the region of an alert that uses the contact point. Does nothing unless the simulator
 * option `contactPoints.deploys` is `whenUsed`.
 */
export function usedIn(world: World, contactPointId: string, region: string): void {
  if (world.readings['contactPoints.deploys'] !== 'whenUsed') return;
  const { dashboardDeployments } = contactPointNamed(world, contactPointId);
  if (!dashboardDeployments.some((deployment) => deployment.region === region))
    deployLater(world, contactPointId, region);
}

/** Finishes the deployment of a contact point to a region when its timer fires. */
export function arrive(world: World, where: { readonly contactPointId: string; readonly region: string }): void {
  const point = world.of(contactPoints).get(where.contactPointId);
  if (point === undefined) return;
  const regions = [...point.dashboardDeployments.map(({ region }) => region), where.region];
  world.of(contactPoints).put({ ...deployedTo(world, point, regions), updatedAt: world.now });
}
