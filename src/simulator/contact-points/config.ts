import { type BodyFields, list, onlyFields, type Reads, required, sent, text } from '../http/fields.ts';
import { invalid } from '../http/refusal.ts';

/** The configuration of a destination: addresses, keys, channels. */
export type Config = Readonly<Record<string, string | readonly string[]>>;

type ConfigReads = Readonly<Record<string, Reads<Config[string]>>>;

interface Shape {
  readonly required: ConfigReads;
  readonly optional: ConfigReads;
  /** Kept when a change omits it, leaves it empty or sends it masked. */
  readonly sensitive: readonly string[];
}

/** The text that stands in the place of a secret. */
const mask = '****';

const retired = 'retired.example';
const chatHost = 'chat.example.com';

function url(protocols: readonly string[], hostAllowed: (host: string) => boolean): Reads<string> {
  return (value, name) => {
    const given = text({ max: 2000 })(value, name);
    const parsed = URL.canParse(given) ? new URL(given) : undefined;
    if (parsed === undefined || !protocols.includes(parsed.protocol)) {
      throw invalid(`${name} must be an address that begins with ${protocols.map((each) => `${each}//`).join(' or ')}`);
    }
    if (!hostAllowed(parsed.hostname.replace(/\.$/, ''))) throw invalid(`${name}: this host is not accepted`);
    return given;
  };
}

const anyUrl = url(['https:', 'http:'], () => true);
const workflowUrl = url(['https:'], (host) => host !== retired && !host.endsWith(`.${retired}`));
const chatUrl = url(['https:'], (host) => host === chatHost);

const emailAddress: Reads<string> = (value, name) => {
  const given = text({ max: 320 })(value, name);
  if (!/^[^\s@]+@[^\s@]+$/.test(given)) throw invalid(`${name} is not an e-mail address`);
  return given;
};

const method: Reads<string> = (value, name) => {
  const given = text()(value, name);
  if (!['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].includes(given)) throw invalid(`${name} is not a method of HTTP`);
  return given;
};

/** The text does not say whether mentions are one text or several. */
const mentions: Reads<string | readonly string[]> = (value, name) =>
  Array.isArray(value) ? list(text())(value, name) : text({ min: 0 })(value, name);

const anyText = text({ min: 0 });

const shapes = {
  chat_webhook_a: {
    required: { webhookUrl: anyUrl },
    optional: { channel: anyText, mentionUsers: mentions },
    sensitive: ['webhookUrl'],
  },
  chat_webhook_b: { required: { webhookUrl: workflowUrl }, optional: {}, sensitive: ['webhookUrl'] },
  chat_webhook_c: { required: { webhookUrl: chatUrl }, optional: {}, sensitive: ['webhookUrl'] },
  incident_service: {
    required: { integrationKey: text() },
    optional: { severity: anyText },
    sensitive: ['integrationKey'],
  },
  webhook: {
    required: { url: anyUrl },
    optional: { httpMethod: method, username: anyText, password: anyText },
    sensitive: ['url'],
  },
  email: { required: { addresses: list(emailAddress, { min: 1 }) }, optional: {}, sensitive: [] },
} as const satisfies Readonly<Record<string, Shape>>;

/** The kind of destination. */
export type ConfigType = keyof typeof shapes;

/** Every kind of destination. */
export const contactPointTypes = Object.keys(shapes) as ConfigType[];

/** The saved config with the fields that changed; secrets stay when they are omitted, empty or masked. */
export function changedConfig(type: ConfigType, saved: Config, given: BodyFields): Config {
  const shape: Shape = shapes[type];
  const changes = Object.entries(given).filter(
    ([name, value]) =>
      typeof value !== 'string' || !(isMasked(value) || (value === '' && shape.sensitive.includes(name))),
  );
  onlyFields(given, 'config', [...Object.keys(shape.required), ...Object.keys(shape.optional)]);
  return newConfig(type, { ...saved, ...Object.fromEntries(changes) });
}

function isMasked(value: string): boolean {
  return value.includes(mask) || /^[•*]+$/.test(value);
}

/** A whole config as it comes with a new contact point. */
export function newConfig(type: ConfigType, given: BodyFields): Config {
  const shape: Shape = shapes[type];
  onlyFields(given, 'config', [...Object.keys(shape.required), ...Object.keys(shape.optional)]);
  const config: Record<string, Config[string]> = {};
  for (const [name, reads] of Object.entries(shape.required)) config[name] = required(given, name, inConfig(reads));
  for (const [name, reads] of Object.entries(shape.optional)) {
    // An empty text takes an optional field away.
    if (sent(given, name) && given[name] !== '') config[name] = required(given, name, inConfig(reads));
  }
  return config;
}

function inConfig<T>(reads: Reads<T>): Reads<T> {
  return (value, name) => reads(value, `config.${name}`);
}
