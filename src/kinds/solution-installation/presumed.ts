/**
 * An installation whose answer was lost, recognised by what shows of it.
 *
 * Guarantees: apps are taken for its components only where nothing else explains them, and nothing is sent on that ground.
 *
 * Why: docs/design/deployments.md#a-lost-first-answer-is-presumed-where-one-explanation-is-left
 */
import { mostExcluded, type JournalEntry } from '../../engine/kind/contract/step.ts';
import { appsOf, type AppItem } from '../../hosting/requests.ts';
import { componentNames, squashed, type SolutionPass } from './components.ts';
import type { SolutionInstallationFacts } from './schema.ts';

/** Between the list that was looked at before the call and its last byte, and between two clocks. */
const slackMs = 60_000;

/**
 * The components that the lost call made: one app for each of the catalog's, called after it, new since the call, made in its time,
 * and nobody else's. Undefined where anything else could explain what shows.
 */
export function presumed(
  pass: SolutionPass,
  entry: JournalEntry,
  traces: readonly AppItem[],
): SolutionInstallationFacts['components'] {
  const { create } = entry;
  const names = componentNames(pass);
  if (create === undefined || create.excluded.length >= mostExcluded || traces.length !== names.length)
    return undefined;
  if (pass.creating(create.collection, create.name) !== undefined) return undefined;
  if (traces.some((app) => isOthers(pass, app) || !isInTime(pass, entry, app))) return undefined;
  const fitting = names.map((name) => traces.filter((app) => squashed(app.name) === squashed(create.name + name)));
  if (fitting.some(({ length }) => length !== 1) || new Set(fitting.flat()).size !== names.length) return undefined;
  return fitting.flat().map(({ appId }, at) => ({ name: names[at], appId }));
}

/** Whether another resource has an app, or may have made it by a call of its own. */
function isOthers(pass: SolutionPass, { appId, name }: AppItem): boolean {
  const apps = appsOf(pass.account.accountId).key;
  return (pass.related?.('HostedApp', appId) ?? []).length > 0 || pass.creating(apps, name) !== undefined;
}

/** Whether an app was made while the call could arrive, by the service's own clock; where no time shows, its name decides. */
function isInTime({ horizonMs }: SolutionPass, { create, deadlineSeconds }: JournalEntry, app: AppItem): boolean {
  if (create?.serviceTime === undefined || app.createdAtMs === undefined) return true;
  const sinceMs = app.createdAtMs - Date.parse(create.serviceTime);
  return sinceMs >= -slackMs && sinceMs <= deadlineSeconds * 1_000 + horizonMs + slackMs;
}
