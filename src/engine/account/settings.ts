/** The settings that an account is opened with: its spec, and the Secrets named there. */
import { type Json, isRecord } from '../../base/json.ts';
import { storedInWords, type Stored } from '../objects/object-index.ts';
import type { Adoption } from '../kind/contract/pass.ts';
import type { Reason } from '../kind/contract/reasons.ts';
import { accountLabel, annotations, partsOfKey } from '../objects/names.ts';
import type { Material, ServiceSettings } from '../ports.ts';

/** The fields of an account's spec that opening the service needs. */
export interface AccountSpec {
  readonly externalId: string;
  readonly credentialsRef: { readonly name: string };
  readonly dangerousCredentialsRef?: { readonly name: string };
  readonly pollSeconds?: number;
  readonly lifecycle?: { readonly managementPolicy?: 'Manage' | 'Observe'; readonly adoption?: Adoption };
  readonly budget?: { readonly requestsPerSecond?: number; readonly concurrency?: number };
  readonly allowedNamespaces?: AllowedNamespaces;
}

/** Why an account's service is not open. */
export interface Closed {
  readonly reason: Reason;
  readonly message: string;
}

/** Where settings come from. */
export interface SettingsSources {
  readonly material: Material;
  readonly operatorNamespace: string;
  /** The default poll interval, for accounts without spec.pollSeconds. */
  readonly pollMs: number;
}

/** The settings from an account's spec and one of its Secrets. */
export async function settingsOf(
  stored: Stored,
  name: string,
  { material, operatorNamespace, pollMs }: SettingsSources,
): Promise<ServiceSettings | Closed> {
  if (stored.spec.is === 'invalid') return { reason: 'InvalidSpec', message: stored.spec.message };
  const spec = specOf(stored);
  const namespace = partsOfKey(stored.key).namespace || operatorNamespace;
  const secret = await material.secret(namespace, name);
  const where = `Secret ${namespace}/${name}`;
  if (secret === undefined)
    return { reason: 'SecretMissing', message: `${where} does not exist; it must hold baseUrl and token` };
  const [baseUrl, token] = [secret.get('baseUrl'), secret.get('token')];
  if (baseUrl === undefined || token === undefined) {
    const missing = baseUrl === undefined ? 'baseUrl' : 'token';
    return { reason: 'SecretMissing', message: `${where} has no key "${missing}"; it must hold baseUrl and token` };
  }
  const flaw = tokenFlaw(token.reveal().trim());
  if (flaw !== undefined)
    return { reason: 'SecretMissing', message: `${where} has ${flaw}; it must hold baseUrl and token` };
  return {
    baseUrl: baseUrl.reveal().trim(),
    token,
    caBundle: secret.get('caBundle')?.reveal(),
    accountId: spec.externalId,
    pollSeconds: spec.pollSeconds ?? pollMs / 1_000,
    ...allowanceOf(spec),
    name: accountLabel(stored.object.metadata),
  };
}

/** What is wrong with a token. A header can carry printable ASCII only. */
function tokenFlaw(token: string): string | undefined {
  if (token === '') return 'an empty key "token"';
  return /^[\x21-\x7e]+( [\x21-\x7e]+)*$/.test(token)
    ? undefined
    : 'a key "token" with characters that a header cannot carry';
}

/** The settings of the second credential. It must name the same host, or it is not used. */
export async function dangerousSettingsOf(
  stored: Stored,
  main: ServiceSettings,
  sources: SettingsSources,
): Promise<ServiceSettings | Closed | undefined> {
  const name = specOf(stored).dangerousCredentialsRef?.name;
  if (name === undefined) return undefined;
  const settings = await settingsOf(stored, name, sources);
  const reason = 'DangerousCredential';
  if ('reason' in settings) return { reason, message: `spec.dangerousCredentialsRef: ${settings.message}` };
  if (settings.baseUrl === main.baseUrl) return settings;
  return {
    reason,
    message: `spec.dangerousCredentialsRef: Secret ${name} has another baseUrl than the one of spec.credentialsRef`,
  };
}

/** The request budget of an account. */
export function allowanceOf({ budget }: AccountSpec): Pick<ServiceSettings, 'requestsPerSecond' | 'concurrency'> {
  return { requestsPerSecond: budget?.requestsPerSecond ?? 5, concurrency: budget?.concurrency ?? 4 };
}

/** Settings as JSON, to take a fingerprint of. */
export function printable(settings: ServiceSettings | Closed): Json {
  if ('reason' in settings) return settings.message;
  const { caBundle, ...rest } = settings;
  return { ...rest, caBundle: caBundle ?? '' };
}

/** The spec of an account, which its schema has checked. */
export function specOf(stored: Stored): AccountSpec {
  if (stored.spec.is === 'valid' && isAccountSpec(stored.spec.value)) return stored.spec.value;
  return { externalId: '', credentialsRef: { name: '' } };
}

function isAccountSpec(value: unknown): value is AccountSpec {
  return isRecord(value) && typeof value['externalId'] === 'string' && isRecord(value['credentialsRef']);
}

/** The token of the newest loss that the owner of the account has accepted. */
export function acceptedMissingOf({ status }: Stored): string | undefined {
  const { facts } = status.memory;
  const token = isRecord(facts) ? facts['lastHandledAcceptMissing'] : undefined;
  return typeof token === 'string' ? token : undefined;
}

/** Refuses another endpoint than that of the account's first success, unless its owner accepts it by annotation. */
export function pinned(stored: Stored, endpoint: string): Closed | undefined {
  const pin = stored.status.memory.binding?.endpoint;
  if (pin === undefined || pin === endpoint) return undefined;
  const accepted = stored.object.metadata.annotations?.[annotations.acceptEndpoint];
  if (accepted === endpoint) return undefined;
  return {
    reason: 'EndpointChanged',
    message: `${storedInWords(stored)} belongs to ${pin}, and the Secret now names ${endpoint}; nothing is sent there until the annotation ${annotations.acceptEndpoint}: ${endpoint} accepts it`,
  };
}

/** The namespaces that a shared account allows. */
export interface AllowedNamespaces {
  readonly names?: readonly string[];
  readonly selector?: {
    readonly matchLabels?: Readonly<Record<string, string>>;
    readonly matchExpressions?: readonly {
      readonly key: string;
      readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
      readonly values?: readonly string[];
    }[];
  };
}

type Labels = Readonly<Record<string, string>>;

/** True when a namespace is allowed. None is by default, nor one whose labels are unknown. */
export function isAllowed(allowed: AllowedNamespaces | undefined, name: string, labels: Labels | undefined): boolean {
  if (allowed?.names?.includes(name) === true) return true;
  if (allowed?.selector === undefined || labels === undefined) return false;
  const { matchLabels = {}, matchExpressions = [] } = allowed.selector;
  const equal = Object.entries(matchLabels).every(([key, value]) => labels[key] === value);
  return equal && matchExpressions.every((expression) => holds(expression, labels));
}

function holds(
  expression: NonNullable<NonNullable<AllowedNamespaces['selector']>['matchExpressions']>[number],
  labels: Labels,
): boolean {
  const value = labels[expression.key];
  const values = expression.values ?? [];
  switch (expression.operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
  }
}
