/** Reads everything of an account that can become a manifest, and reports what could not be read. */
import type { Read } from '../../engine/ports.ts';
import {
  alertsOf,
  appEnvsOf,
  appOf,
  appsOf,
  contactPointsOf,
  contactPointWithSecretsOf,
  drConfigurationsOf,
  drPointsOf,
  drSourcesOf,
  memberAccessOf,
  type ContactPointItem,
  type ContactPointWithSecrets,
} from '../../hosting/requests.ts';
import type { AccountReader, ReadFailure } from '../account/reader.ts';
import { capitalised } from '../output.ts';

/** A part of an account that could not be read or cannot be imported. */
export interface Gap {
  /** The name of the part of the account in messages, such as `app app_9`. */
  readonly what: string;
  readonly code: string;
  readonly reason: string;
}

/** The reason why a list could not be read: one word, and a sentence. */
interface Unread {
  readonly why: ReadFailure | 'malformed' | 'notFound';
  readonly message: string;
}

/** The content of an account. A list that could not be read completely is empty, and `gaps` has the reason. */
export type AccountContent = Awaited<ReturnType<typeof readAccount>>;

/**
 * Chooses what to read of an account. `kinds` has the kinds of the objects to read; all kinds if empty. `members` has
 * the ids of the memberships to read.
 */
interface Wanted {
  readonly kinds: readonly string[];
  readonly members: readonly string[];
  /**
   * True to also read the recovery points, and the environments that can be protected. Import writes no manifests for
   * them, but `apphosting plan` needs them in the snapshot that import writes.
   */
  readonly recovery?: boolean;
  /**
   * Called when the lists of the whole account have been read. `lists` is their number, `reads` the number of reads
   * that still follow, such as one for the alerts of each environment.
   */
  readonly onListed?: (accountId: string, lists: number, reads: number) => void;
}

/**
 * The number of catalogs that are read to prove that an import
 * sends nothing: app presets, database presets and solutions.
 */
const catalogs = 3;

/**
 * Makes a function that reads a list of the account. If the list cannot be read completely, the function returns an
 * empty list and adds the reason to `gaps`.
 */
export function collecting(reader: Pick<AccountReader, 'read'>) {
  const gaps: Gap[] = [];
  const list = async <Item>(read: Read<Item>, what: string): Promise<readonly Item[]> => {
    const found = await readWhole(reader, read);
    if ('items' in found) return found.items;
    gaps.push({ what, code: capitalised(found.why), reason: found.message });
    return [];
  };
  return { list, gaps };
}

/**
 * Reads the objects of an account from the service. In the result, a list that could not be read completely is empty,
 * and `gaps` has the reason.
 */
export async function readAccount(
  reader: Pick<AccountReader, 'accountId' | 'read'>,
  { kinds, members: memberIds, recovery = false, onListed }: Wanted,
) {
  const { accountId } = reader;
  const { list, gaps } = collecting(reader);
  const isWanted = (kind: string) => kinds.length === 0 || kinds.includes(kind);
  const isRecovery = isWanted('DisasterProtection');
  const [apps, environments, contactPoints, protections] = await Promise.all([
    list(appsOf(accountId), 'the list of apps'),
    list(appEnvsOf(accountId), 'the list of environments'),
    list(contactPointsOf(accountId), 'the list of contact points'),
    isRecovery ? list(drConfigurationsOf(accountId), 'the list of protections') : [],
    isRecovery && recovery ? list(drSourcesOf(accountId), 'the list of environments that can be protected') : [],
  ]);
  const of = <Item>(kind: string, items: readonly Item[]) => (isWanted(kind) ? items : []);
  const wantedApps = of('HostedApp', apps);
  const withAlerts = of('MetricAlert', environments);
  const wantedPoints = of('ContactPoint', contactPoints);
  const withPoints = recovery ? of('DisasterProtection', protections) : [];
  const reads = [wantedApps, withAlerts, wantedPoints, memberIds, withPoints];
  onListed?.(accountId, isRecovery ? 5 : 3, reads.flat().length + catalogs);
  const records = await Promise.all(wantedApps.map(({ appId }) => list(appOf(appId), `app ${appId}`)));
  const alerts = await Promise.all(
    withAlerts.map(({ appEnvId: id }) => list(alertsOf(id), `the alerts of environment ${id}`)),
  );
  const settings = await settingsOf(reader, wantedPoints);
  await Promise.all(
    withPoints.map(({ configurationId: id }) =>
      list(drPointsOf(accountId, id), `the recovery points of protection ${id}`),
    ),
  );
  const members = await Promise.all(memberIds.map((id) => list(memberAccessOf(accountId, id), `member ${id}`)));
  return {
    apps: apps.map((app, at) => ({ ...app, record: records[at]?.[0] })),
    environments,
    contactPoints: contactPoints.map((point) => ({ ...point, config: settings.get(point.contactPointId) })),
    alerts: alerts.flat(),
    protections,
    members: members.flat(),
    gaps,
  };
}

/**
 * Reads the settings of contact points, and stops at the first read that fails. Returns secret settings as a `Secret`,
 * which cannot be printed.
 */
async function settingsOf(reader: Pick<AccountReader, 'read'>, points: readonly ContactPointItem[]) {
  const settings = new Map<string, ContactPointWithSecrets['config']>();
  for (const { contactPointId } of points) {
    const found = await readWhole(reader, contactPointWithSecretsOf(contactPointId, undefined));
    if (!('items' in found)) break;
    settings.set(contactPointId, found.items[0]?.config);
  }
  return settings;
}

/** Reads all pages of a list; returns its items, or the reason why they could not be read. */
export async function readWhole<Item>(
  reader: Pick<AccountReader, 'read'>,
  read: Read<Item>,
): Promise<{ readonly items: readonly Item[] } | Unread> {
  const items = new Map<string, Item>();
  const seen = new Set<string>();
  for (let request = read.first; ;) {
    const page = JSON.stringify(request.query);
    if (seen.has(page))
      return { why: 'malformed', message: `${request.endpoint}: the pages of the list repeat and never end` };
    seen.add(page);
    const reading = await reader.read(request);
    if (reading.is === 'failed') return { why: reading.why, message: reading.message };
    if (reading.status === 404)
      return { why: 'notFound', message: `${request.endpoint}: the service has no such object` };
    const found = read.items(reading.body);
    if (found === undefined)
      return { why: 'malformed', message: `${request.endpoint}: the answer does not have the documented form` };
    for (const item of found) items.set(read.idOf(item), item);
    const next = read.next?.(reading.body);
    if (next === undefined) return { items: [...items.values()] };
    request = next;
  }
}
