import { type BodyFields, type FieldShape, inside, list, must, onlyFields } from '../http/fields.ts';
import { readFields, type Reads, text } from '../http/fields.ts';
import { invalid } from '../http/refusal.ts';

/** The configuration of a destination: addresses, keys, channels. */
export type Config = Readonly<Record<string, string | readonly string[]>>;

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
  chat_webhook_a: { webhookUrl: must(anyUrl), channel: anyText, mentionUsers: mentions },
  chat_webhook_b: { webhookUrl: must(workflowUrl) },
  chat_webhook_c: { webhookUrl: must(chatUrl) },
  incident_service: { integrationKey: must(text()), severity: anyText },
  webhook: { url: must(anyUrl), httpMethod: method, username: anyText, password: anyText },
  email: { addresses: must(list(emailAddress, { min: 1 })) },
} as const satisfies Readonly<Record<string, FieldShape>>;

/** Kept when a change omits it, leaves it empty or sends it masked. */
const sensitive = ['webhookUrl', 'integrationKey', 'url'];

/** The kind of destination. */
export type ConfigType = keyof typeof shapes;

/** Every kind of destination. */
export const contactPointTypes = Object.keys(shapes) as ConfigType[];

/** The saved config with the fields that changed; secrets stay when they are omitted, empty or masked. */
export function changedConfig(type: ConfigType, saved: Config, given: BodyFields): Config {
  const isKept = (name: string, value: unknown) =>
    typeof value === 'string' && (isMasked(value) || (value === '' && sensitive.includes(name)));
  onlyFields(given, 'config', Object.keys(shapes[type]));
  const changes = Object.entries(given).filter(([name, value]) => !isKept(name, value));
  return newConfig(type, { ...saved, ...Object.fromEntries(changes) });
}

function isMasked(value: string): boolean {
  return value.includes(mask) || /^[•*]+$/.test(value);
}

/** A whole config as it comes with a new contact point; an empty text takes an optional field away. */
export function newConfig(type: ConfigType, given: BodyFields): Config {
  const shape: FieldShape = shapes[type];
  onlyFields(given, 'config', Object.keys(shape));
  const sent = Object.entries(given).filter(([name, value]) => value !== '' || typeof shape[name] !== 'function');
  return readFields(Object.fromEntries(sent), inside('config', shape)) as object as Config;
}
