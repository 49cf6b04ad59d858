/** What an account is opened with: its spec, and the Secrets that this names. */
import { type Json, isRecord } from '../../base/json.ts';
import type { AllowedNamespaces } from './allowed-namespaces.ts';
import { storedInWords, type Stored } from '../objects/object-index.ts';
import type { Adoption } from '../kind/contract/pass.ts';
import type { Reason } from '../kind/contract/reasons.ts';
import { accountLabel, annotations, partsOfKey } from '../objects/names.ts';
import type { KnownSecrets, Material, ServiceSettings } from '../ports.ts';

/** The account kinds' spec as far as opening the service needs it. */
export interface AccountSpec {
  readonly accountId: string;
  readonly credentialsRef: { readonly name: string };
  readonly dangerousCredentialsRef?: { readonly name: string };
  readonly mode?: 'Manage' | 'Observe';
  readonly pollSeconds?: number;
  readonly adoption?: Adoption;
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
  readonly secrets: KnownSecrets;
}

/** What a Secret says that an account names, together with the account's own spec. */
export async function settingsOf(
  entry: Stored,
  name: string,
  { material, operatorNamespace, secrets }: SettingsSources,
): Promise<ServiceSettings | Closed> {
  if (entry.spec.is === 'invalid') return { reason: 'InvalidSpec', message: entry.spec.message };
  const spec = specOf(entry);
  const namespace = partsOfKey(entry.key).namespace || operatorNamespace;
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
    accountId: spec.accountId,
    pollSeconds: spec.pollSeconds ?? 60,
    ...allowanceOf(spec),
    name: accountLabel(entry.object.metadata),
    secrets,
  };
}

/** What is wrong with the key; printable ASCII and nothing else is what a header can carry. */
function tokenFlaw(token: string): string | undefined {
  if (token === '') return 'an empty key "token"';
  return /^[\x21-\x7e]+( [\x21-\x7e]+)*$/.test(token)
    ? undefined
    : 'a key "token" with characters that a header cannot carry';
}

/** The second credential is for the same host and the same account; without a Secret that says so it is not used. */
export async function dangerousSettingsOf(
  entry: Stored,
  main: ServiceSettings,
  sources: SettingsSources,
): Promise<ServiceSettings | Closed | undefined> {
  const name = specOf(entry).dangerousCredentialsRef?.name;
  if (name === undefined) return undefined;
  const settings = await settingsOf(entry, name, sources);
  const reason = 'DangerousCredential';
  if ('reason' in settings) return { reason, message: `spec.dangerousCredentialsRef: ${settings.message}` };
  if (settings.baseUrl === main.baseUrl) return settings;
  return {
    reason,
    message: `spec.dangerousCredentialsRef: Secret ${name} has another baseUrl than the one of spec.credentialsRef`,
  };
}

/** What an account may take of the service. */
export function allowanceOf({ budget }: AccountSpec): Pick<ServiceSettings, 'requestsPerSecond' | 'concurrency'> {
  return { requestsPerSecond: budget?.requestsPerSecond ?? 5, concurrency: budget?.concurrency ?? 4 };
}

/** Settings as something to take a fingerprint of. */
export function printable(settings: ServiceSettings | Closed): Json {
  if ('reason' in settings) return settings.message;
  const { caBundle, secrets: _, ...rest } = settings;
  return { ...rest, caBundle: caBundle ?? '' };
}

/** The spec of an account, which its schema has checked. */
export function specOf(entry: Stored): AccountSpec {
  if (entry.spec.is === 'valid' && isAccountSpec(entry.spec.value)) return entry.spec.value;
  return { accountId: '', credentialsRef: { name: '' } };
}

function isAccountSpec(value: unknown): value is AccountSpec {
  return isRecord(value) && typeof value['accountId'] === 'string' && isRecord(value['credentialsRef']);
}

/** The newest loss that the owner of the account has accepted, as status says. */
export function acceptedMissingOf({ status }: Stored): string | undefined {
  const { facts } = status.memory;
  const token = isRecord(facts) ? facts['acceptedMissing'] : undefined;
  return typeof token === 'string' ? token : undefined;
}

/** An account stays with the endpoint of its first success until its owner accepts another by annotation. */
export function pinned(entry: Stored, endpoint: string): Closed | undefined {
  const pin = entry.status.memory.binding?.endpoint;
  if (pin === undefined || pin === endpoint) return undefined;
  const accepted = entry.object.metadata.annotations?.[annotations.acceptEndpoint];
  if (accepted === endpoint) return undefined;
  return {
    reason: 'EndpointChanged',
    message: `${storedInWords(entry)} belongs to ${pin}, and the Secret now names ${endpoint}; nothing is sent there until the annotation ${annotations.acceptEndpoint}: ${endpoint} accepts it`,
  };
}
