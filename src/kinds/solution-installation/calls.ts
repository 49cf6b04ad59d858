/**
 * Makes the three requests about a solution: one installs the solution, one completes an installation that lacks
 * components, and one upgrades the agent image. Decides what follows when the outcome of a request is unknown.
 * Repeating an installation or an upgrade does harm.
 *
 * Why: docs/design/deployments.md#solutions
 */
import { growingMs } from '../../base/time.ts';
import { definedIn, type Json } from '../../base/json.ts';
import { fingerprintsOf } from '../../engine/kind/planner/compare.ts';
import { boundTo } from '../../engine/kind/planner/create.ts';
import {
  doubtPauseMs,
  overAt,
  readOf,
  readUnread,
  serviceTimeOf,
  frozenOrTakingOver,
  takingOver,
} from '../../engine/kind/planner/observe.ts';
import {
  mostExcluded,
  type Call,
  type JournalEntry,
  type Memory,
  type Refusal,
  type Verdict,
} from '../../engine/kind/contract/step.ts';
import {
  appsOf,
  installationIdOf,
  postSolutions,
  solutionResultOf,
  solutionsOf,
  type AppItem,
} from '../../hosting/requests.ts';
import type { SolutionInstallationFacts } from './schema.ts';
import {
  alike,
  awaitDeployments,
  environmentIds,
  isNamedAfter,
  merged,
  presumed,
  unexplained,
  type SolutionPass,
  type SolutionStep,
} from './components.ts';
import { valueOf } from '../../engine/kind/schema/schema.ts';

const collection = 'solutions';
/** The path in the spec of the agent image, which is the only input that may change after the installation. */
const agentImage = 'inputs.agentImage';

type Inputs = Readonly<Record<string, Json>>;

/** Returns the inputs of the solution, with values from Secrets and ConfigMaps filled in. */
export function inputsOf(pass: SolutionPass): Inputs {
  const rows = (pass.spec.inputs ?? []).map((input) => [input.name, valueOf(input, pass)] as const);
  return definedIn(Object.fromEntries(rows));
}

/** Returns the fields of an installation request with these inputs. Each field is named by its path in the spec. */
export function wantedOf(pass: SolutionPass, inputs: Inputs = inputsOf(pass)): Readonly<Record<string, Json>> {
  const { appName, region } = pass.spec;
  const rows = Object.entries(inputs).map(([name, value]) => [`inputs.${name}`, value] as const);
  return { appName, region, ...Object.fromEntries(rows) };
}

/**
 * Returns the fingerprints of fields that were sent and are no longer in the spec. The service keeps the values of these
 * fields.
 */
export function leftFingerprints(pass: SolutionPass): Readonly<Record<string, string>> {
  const wanted = wantedOf(pass);
  const left = Object.entries(pass.memory.applied?.fingerprints ?? {}).filter(([field]) => wanted[field] === undefined);
  return Object.fromEntries(left);
}

/**
 * Returns the generation and the fingerprints to record in status once the service has accepted the spec with these
 * inputs. If the spec no longer has an agent image, the fingerprint of the earlier image stays.
 */
export function asApplied(pass: SolutionPass, inputs?: Inputs): NonNullable<Memory['applied']> {
  const left = definedIn({ [agentImage]: leftFingerprints(pass)[agentImage] });
  const fingerprints = { ...left, ...fingerprintsOf(pass, wantedOf(pass, inputs)) };
  return { generation: pass.subject.generation, fingerprints };
}

/**
 * Sends the request that starts an installation. The request is recorded in status first, because a second request would
 * install everything again.
 */
export function create(pass: SolutionPass, attempt: number): SolutionStep {
  const { spec, account } = pass;
  const apps = appsOf(account.accountId);
  const snapshot = pass.view.all(apps);
  if (snapshot === undefined || snapshot.begunAt < pass.askedAt) return readOf(pass, apps, pass.askedAt);
  const waits = frozenOrTakingOver(pass, 'nothing is installed');
  if (waits !== undefined) return waits;
  const creating = pass.creating(collection, spec.appName);
  if (creating !== undefined) {
    const message = `${creating} is installing "${spec.appName}" or has just installed it; this resource waits until that installation is finished`;
    return { is: 'wait', reason: 'CreateInProgress', message, retryInMs: 2_000 };
  }
  const before = pass.memory.journal?.create?.excluded;
  const similar = alike(pass, spec.appName);
  const there = before === undefined ? unexplained(pass, similar).filter((app) => isNamedAfter(pass, app)) : [];
  if (there.length > 0) return alreadyExists(pass, there);
  const excluded = before ?? similar.map(({ appId }) => appId).slice(0, mostExcluded);
  const call = installing(pass);
  const digest = pass.fingerprint(call.request.body ?? null);
  const intent = { collection, name: spec.appName, excluded, ...serviceTimeOf(snapshot) };
  const journal = { operation: 'install', attempt, digest, create: intent };
  return { is: 'call', call: { ...call, journal } };
}

function alreadyExists({ spec }: SolutionPass, apps: readonly AppItem[]): SolutionStep {
  const some = apps.slice(0, 5).map(({ appId, name }) => `${appId} "${name}"`);
  const message = `${some.join(', ')} may be components of an installation "${spec.appName}" that this resource did not create; to continue that installation, set spec.externalId to its id; otherwise choose another spec.appName`;
  return { is: 'stall', reason: 'AlreadyExists', message };
}

/** Builds the request that installs a solution, completes an installation, or upgrades its agent image. */
function installing(pass: SolutionPass, inputs: Inputs = inputsOf(pass)): Call<SolutionInstallationFacts> {
  const { spec, account, memory } = pass;
  const { solution, appName, region } = spec;
  const what = memory.id === undefined ? 'install' : memory.facts.complete === true ? 'upgrade' : 'continue installing';
  const words = `${what} "${appName}" (solution "${solution}")`;
  return {
    request: postSolutions({
      accountId: account.accountId,
      solutionSlug: solution,
      appName,
      region,
      ...(memory.id !== undefined && { installationId: memory.id }),
      ...(Object.keys(inputs).length > 0 && { inputs }),
    }),
    words,
    urgency: 'edit',
    alone: environmentIds(pass),
    committed: (body) => installed(pass, body, inputs),
    tells: (body) => {
      const note = solutionResultOf(body)?.postInstallNote;
      return note === undefined || note === memory.facts.postInstallNote
        ? undefined
        : { reason: 'PostInstallNote', note };
    },
    refused: (refusal) => partial(pass, refusal) ?? saidNo(pass, refusal, words),
  };
}

/**
 * Reads the response to a successful request and returns what to record in status; undefined if the response cannot be
 * read.
 */
function installed(
  pass: SolutionPass,
  body: unknown,
  inputs: Inputs,
): Partial<Memory<SolutionInstallationFacts>> | undefined {
  const { memory } = pass;
  const result = solutionResultOf(body);
  if (result === undefined) return undefined;
  const id = result.installationId ?? memory.id;
  const bound = id === undefined ? { journal: undefined } : boundTo(pass, id, memory.ownership ?? 'Created');
  const told = result.components.map(({ appEnvId, ...rest }) => definedIn({ ...rest, environmentId: appEnvId }));
  const components = merged(memory.facts.components ?? [], told);
  const postInstallNote = result.postInstallNote ?? memory.facts.postInstallNote;
  return {
    ...bound,
    applied: asApplied(pass, inputs),
    facts: { complete: true, components: components.length > 0 ? components : undefined, postInstallNote },
  };
}

/**
 * Returns a `wait` verdict after an error that contains the id of the installation: some components exist, and another
 * request with this id creates the others.
 */
function partial(pass: SolutionPass, refusal: Refusal): Verdict<SolutionInstallationFacts> | undefined {
  const { memory, notes } = pass;
  const id = 'body' in refusal ? installationIdOf(refusal.body) : undefined;
  if (id === undefined || (memory.id !== undefined && id !== memory.id) || memory.facts.complete === true) {
    return undefined;
  }
  const tries = notes.partialInstalls ?? 0;
  return {
    is: 'wait',
    reason: 'PartiallyInstalled',
    message: `installation ${id} is not complete: ${refusal.message}; the operator continues the installation under the same id`,
    retryInMs: growingMs(tries, { firstMs: 5_000, longestMs: 300_000 }),
    note: { partialInstalls: tries + 1 },
    remember: { ...boundTo(pass, id, memory.ownership ?? 'Created'), facts: { ...memory.facts, complete: false } },
  };
}

/** Returns a `stall` verdict if the service does not know the installation id that the operator sent. */
function saidNo(pass: SolutionPass, refusal: Refusal, words: string): Verdict<SolutionInstallationFacts> | undefined {
  const { id } = pass.memory;
  if (id === undefined || refusal.is !== 'notFound') return undefined;
  return { is: 'stall', reason: 'Rejected', message: `${words}, with installation id ${id}: ${refusal.message}` };
}

/**
 * Finds out what became of the first request of an installation if its outcome is unknown. Sends another request only
 * if no app in the service can be a component that the first request created.
 */
export function resolveInstallation(pass: SolutionPass, entry: JournalEntry): SolutionStep {
  const { spec } = pass;
  const apps = appsOf(pass.account.accountId);
  const snapshot = pass.view.all(apps);
  const { settledAt, since, inWords } = overAt(pass, entry);
  if (snapshot === undefined || snapshot.begunAt < since) return readOf(pass, apps, pass.monotonicMs);
  const appName = entry.create?.name ?? spec.appName;
  const excluded = entry.create?.excluded ?? [];
  const traces = unexplained(pass, alike(pass, appName)).filter(({ appId }) => !excluded.includes(appId));
  const ids = traces.map(({ appId }) => appId).toSorted();
  const found = `${ids.slice(0, 5).join(', ')} may be components of this installation`;
  const lost = `the outcome of the installation of "${appName}" is not known`;
  if (entry.conflicted === undefined && snapshot.begunAt < settledAt) {
    const next =
      traces.length > 0
        ? `${found}, and more components may appear until ${inWords}`
        : `if no component has appeared by ${inWords}, the operator sends a new request to install "${spec.appName}"`;
    return { is: 'wait', reason: 'InDoubt', message: `${lost}; ${next}`, retryInMs: doubtPauseMs };
  }
  if (traces.length > 0) {
    const taken = entry.conflicted === undefined ? takenFor(pass, entry, traces) : undefined;
    if (taken !== undefined) return taken;
    const message = `${lost}, and ${found}; set spec.externalId to the id of the installation or, if these apps (at most five are named) are leftovers, delete them to install the solution again`;
    return { is: 'stall', reason: 'InstallationIdUnknown', message };
  }
  const remember = { journal: undefined };
  if (entry.conflicted !== undefined) {
    const message = `install "${appName}" (solution "${spec.solution}"): ${entry.conflicted}`;
    return { is: 'stall', reason: 'Rejected', message, remember };
  }
  // If `spec.appName` has changed, begin a new installation of the solution with an empty journal.
  return appName === spec.appName ? create(pass, entry.attempt + 1) : { is: 'again', remember };
}

/**
 * Takes these apps for the components of an installation whose outcome is unknown, if only this installation can have
 * created them; otherwise returns undefined. Reads the catalog first, unless it was read before.
 */
function takenFor(pass: SolutionPass, entry: JournalEntry, traces: readonly AppItem[]): SolutionStep | undefined {
  const unread = readUnread(pass, [solutionsOf(pass.account.accountId)]);
  if (unread !== undefined) return unread;
  const isAsSent = entry.digest === pass.fingerprint(installing(pass).request.body ?? null);
  const components = isAsSent ? presumed(pass, entry, traces) : undefined;
  if (components === undefined) return undefined;
  const facts = { complete: true, components };
  return { is: 'again', remember: { journal: undefined, ownership: 'Presumed', applied: asApplied(pass), facts } };
}

// ---- requests with the id of an installation -------------------------------------------------------------------
//
// Completes an installation whose id is known, and upgrades the agent image of a complete installation.
//
// Why: docs/design/deployments.md#an-upgrade-is-sent-at-most-twice

/** Maximum number of times that the same upgrade is sent if its outcome stays unknown. */
const mostUpgrades = 2;

/**
 * Completes an installation whose id is known. The request leaves out the agent image, because a request with an image
 * is an upgrade if the installation is already complete. So this request is safe to repeat, and a later upgrade sets
 * the image.
 */
export function install(pass: SolutionPass): SolutionStep {
  const { agentImage: _later, ...inputs } = inputsOf(pass);
  // An empty `whileInFlight` makes the operator write to status, before the request, which request it is about to send.
  return (
    takingOver(pass, 'nothing is installed') ?? { is: 'call', call: { ...installing(pass, inputs), whileInFlight: {} } }
  );
}

/**
 * Upgrades the agent image of a complete installation. The request is recorded in status first, because no read shows
 * whether the upgrade took effect: the service never shows which image runs.
 */
export function upgrade(pass: SolutionPass): SolutionStep {
  const call = installing(pass);
  const digest = pass.fingerprint(call.request.body ?? null);
  const doubts = doubtsOf(pass, digest);
  if (doubts === mostUpgrades) {
    const message = `${call.words}: the outcome of two attempts is not known, and the service does not show which image runs; to try again, change agentImage in spec.inputs`;
    return { is: 'stall', reason: 'UpgradeInDoubt', message };
  }
  const journal = { operation: 'upgrade', attempt: doubts + 1, digest };
  const waits = takingOver(pass, 'nothing is installed') ?? awaitDeployments(pass);
  return waits ?? { is: 'call', call: { ...call, journal } };
}

/**
 * Returns the fingerprint of the agent image to record after an upgrade with an unknown outcome. It is made from the
 * upgrade and the number of its attempts, and differs from the fingerprint of every image.
 */
function fingerprintOfDoubt(pass: SolutionPass, { attempt, digest }: Pick<JournalEntry, 'attempt' | 'digest'>): string {
  return pass.fingerprint(['in doubt', attempt, digest]);
}

/** Returns how often this upgrade was sent with an unknown outcome. */
function doubtsOf(pass: SolutionPass, digest: string): number {
  const last = pass.memory.applied?.fingerprints[agentImage];
  return [1, mostUpgrades].find((attempt) => last === fingerprintOfDoubt(pass, { attempt, digest })) ?? 0;
}

/** Handles an upgrade whose outcome is unknown. Nothing is sent while that upgrade request may still arrive. */
export function resolveUpgrade(pass: SolutionPass, entry: JournalEntry): SolutionStep {
  const { memory, monotonicMs, spec } = pass;
  if (entry.conflicted !== undefined) {
    const message = `upgrade "${spec.appName}" (solution "${spec.solution}"): ${entry.conflicted}`;
    return { is: 'stall', reason: 'Rejected', message, remember: { journal: undefined } };
  }
  const { settledAt, inWords } = overAt(pass, entry);
  if (monotonicMs < settledAt) {
    const next =
      entry.attempt < mostUpgrades
        ? `the operator sends the upgrade again at ${inWords}`
        : `the operator has tried this upgrade twice and does not send it again. No other upgrade is sent before ${inWords}`;
    const message = `the outcome of the upgrade of installation "${spec.appName}" is not known; ${next}`;
    return { is: 'wait', reason: 'InDoubt', message, retryInMs: settledAt - monotonicMs };
  }
  const { generation = -1, fingerprints = {} } = memory.applied ?? {};
  const applied = { generation, fingerprints: { ...fingerprints, [agentImage]: fingerprintOfDoubt(pass, entry) } };
  return { is: 'again', remember: { journal: undefined, applied } };
}

/** Describes what stays in the service when the resource is deleted. */
export function leftBehind({ id, journal, facts }: Memory<SolutionInstallationFacts>): string | undefined {
  const apps = (facts.components ?? []).flatMap(({ appId }) => appId ?? []);
  const made = apps.length === 0 ? '' : ` (apps ${apps.slice(0, 10).join(', ')})`;
  if (id !== undefined)
    return `installation ${id}${made} stays in the service, because the service's API cannot delete installations; to manage it again, set spec.externalId: ${id} in another SolutionInstallation`;
  if (apps.length > 0)
    return `an installation${made} stays in the service, because the service's API cannot delete installations; the id of the installation is not known`;
  if (journal?.create === undefined) return undefined;
  return `the outcome of the installation of "${journal.create.name}" is not known; if the service carried it out, its components stay in the service`;
}
