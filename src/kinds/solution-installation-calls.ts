/** Installing a solution: the call that must not happen twice, and what becomes of it when its answer is lost. */
import { boundTo, definedOf } from '../engine/kind/create.ts';
import type { Pass } from '../engine/kind/pass.ts';
import { readOf } from '../engine/kind/reading.ts';
import type { JournalEntry, Refusal, Step, Verdict } from '../engine/kind/step.ts';
import type { Json } from '../engine/ports.ts';
import { appsOf, installationIdOf, postSolutions, solutionResultOf } from '../hosting/requests.ts';
import { Secret } from '../secret.ts';
import type { Facts, Spec } from './schema/solution-installation.ts';
import { valueOf } from './values.ts';

export type SolutionPass = Pass<Spec, Facts>;

const recheckMs = 5_000;
const clockSlackMs = 5_000;
const collection = 'solutions';
/** As many as a journal holds. */
const mostExcluded = 1_000;

/** The inputs as they are now, those from Secrets looked up. */
export function inputsOf(pass: SolutionPass): Readonly<Record<string, Json>> {
  const rows = Object.entries(pass.spec.inputs ?? {}).map(([name, input]) => [name, valueOf(input, pass)] as const);
  return definedOf(Object.fromEntries(rows));
}

/** Everything that the service is told, by its place in the spec. */
export function wantedOf(pass: SolutionPass): Readonly<Record<string, Json>> {
  const { appName, region } = pass.spec;
  const inputs = Object.entries(inputsOf(pass)).map(([name, value]) => [`inputs.${name}`, value] as const);
  return { appName, region, ...Object.fromEntries(inputs) };
}

/** The fingerprints of what the service is told. */
export function printsOf(pass: SolutionPass): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(wantedOf(pass)).map(([field, value]) => [field, pass.print(value)]));
}

/** The first call: it is written down, since a second one would install everything again. */
export function create(pass: SolutionPass, attempt: number): Step<Facts> {
  const { spec, account, quarantineMs } = pass;
  const apps = appsOf(account.accountId);
  const walk = pass.view.all(apps);
  if (walk === undefined || walk.begunAt < pass.askedAt) return readOf(pass, apps, pass.askedAt);
  if (account.frozen !== undefined) return { is: 'wait', reason: 'VisibilityLost', message: account.frozen };
  if (quarantineMs > 0) {
    const message =
      'this operator has just taken over; nothing is installed until calls of its predecessor can no longer arrive';
    return { is: 'wait', reason: 'TakeOver', message, retryInMs: quarantineMs };
  }
  const creating = pass.creating(collection, spec.appName);
  if (creating !== undefined) {
    const message = `${creating} is installing "${spec.appName}"; this one goes next`;
    return { is: 'wait', reason: 'CreateInProgress', message, retryInMs: 2_000 };
  }
  const excluded =
    pass.memory.journal?.create?.excluded ??
    relatedTo(pass)
      .map(({ appId }) => appId)
      .slice(0, mostExcluded);
  const posted = install(pass);
  if (posted.is !== 'call') return posted;
  const digest = pass.print(posted.call.request.body ?? null);
  const journal = { operation: 'install', attempt, digest, create: { collection, name: spec.appName, excluded } };
  return { ...posted, call: { ...posted.call, journal } };
}

/** The one request for everything: a new installation, the rest of one, and another agent image. */
export function install(pass: SolutionPass): Step<Facts> {
  const { spec, account, memory, subject } = pass;
  const inputs = inputsOf(pass);
  const { solution, appName, region } = spec;
  const words = memory.id === undefined ? 'install' : memory.facts.complete === true ? 'upgrade' : 'go on installing';
  return {
    is: 'call',
    call: {
      request: postSolutions({
        accountId: account.accountId,
        solutionSlug: solution,
        appName,
        region,
        ...(memory.id !== undefined && { installationId: memory.id }),
        ...(Object.keys(inputs).length > 0 && { inputs }),
      }),
      words: `${words} solution "${solution}" as "${appName}"`,
      urgency: 'edit',
      committed: (body) => {
        const result = solutionResultOf(body);
        if (result === undefined) return undefined;
        const id = result.installationId ?? memory.id;
        const bound =
          id === undefined ? { journal: undefined } : boundTo<Spec, Facts>(pass, id, memory.ownership ?? 'Created');
        const components = result.components.length > 0 ? [...result.components] : memory.facts.components;
        const postInstallNote = noteOf(pass, body) ?? memory.facts.postInstallNote;
        return {
          ...bound,
          applied: { generation: subject.generation, prints: printsOf(pass) },
          facts: { complete: true, components, postInstallNote },
        };
      },
      tells: (body) => {
        const note = noteOf(pass, body);
        return note === undefined || note === memory.facts.postInstallNote
          ? undefined
          : { reason: 'PostInstallNote', note };
      },
      refused: (refusal) => partial(pass, refusal),
    },
  };
}

/** A failure that names the installation made some components: the same id completes it. */
function partial(pass: SolutionPass, refusal: Refusal): Verdict<Facts> | undefined {
  const id = ('body' in refusal ? installationIdOf(refusal.body) : undefined) ?? undefined;
  if (id === undefined || (pass.memory.id !== undefined && id !== pass.memory.id)) return undefined;
  const tries = pass.notes['tries'] ?? 0;
  return {
    is: 'wait',
    reason: 'PartiallyInstalled',
    message: `installation ${id} is not complete: ${refusal.message}; it is continued under the same id`,
    retryInMs: Math.min(5_000 * 2 ** tries, 300_000),
    note: { tries: tries + 1 },
    remember: boundTo(pass, id, pass.memory.ownership ?? 'Created'),
  };
}

/** Apps whose name says that they may be components of this installation. */
function relatedTo({
  view,
  account,
  spec,
}: SolutionPass): readonly { readonly appId: string; readonly createdAtMs: number | undefined }[] {
  const name = spec.appName.toLowerCase();
  const apps = view.all(appsOf(account.accountId))?.items.values() ?? [];
  return [...apps].filter((app) => app.name.toLowerCase().includes(name));
}

/** The answer to the first call was lost: only a world without a trace of it allows another. */
export function resolveDoubt(pass: SolutionPass, entry: JournalEntry): Step<Facts> {
  const { journalSeen, monotonicMs, horizonMs } = pass;
  const apps = appsOf(pass.account.accountId);
  const walk = pass.view.all(apps);
  const settledAt = journalSeen.monotonic + entry.deadlineSeconds * 1_000 + horizonMs;
  const since = Math.max(journalSeen.monotonic, Math.min(settledAt, monotonicMs - recheckMs));
  if (walk === undefined || walk.begunAt < since) return readOf(pass, apps, monotonicMs);
  const from = Date.parse(entry.startedAt) - clockSlackMs;
  const until = Date.parse(entry.startedAt) + entry.deadlineSeconds * 1_000 + horizonMs;
  const traces = relatedTo(pass)
    .filter(({ appId }) => entry.create?.excluded.includes(appId) !== true)
    .filter(({ createdAtMs: at }) => at === undefined || (at >= from && at <= until))
    .map(({ appId }) => appId)
    .toSorted();
  if (traces.length > 0) {
    const message = `the answer to the installation was lost and ${traces.slice(0, 5).join(', ')} may be its components; put the installation's id into spec.installationId, or delete these apps to install again`;
    return { is: 'stall', reason: 'InstallationIdUnknown', message };
  }
  if (entry.conflicted !== undefined) {
    const message = `install solution "${pass.spec.solution}": ${entry.conflicted}`;
    return { is: 'stall', reason: 'Rejected', message, remember: { journal: undefined } };
  }
  if (walk.begunAt < settledAt) {
    const by = new Date(journalSeen.wall + entry.deadlineSeconds * 1_000 + horizonMs).toISOString();
    const message = `the answer to the installation of "${pass.spec.appName}" was lost; if no component shows by ${by}, it is installed again`;
    return { is: 'wait', reason: 'InDoubt', message, retryInMs: recheckMs };
  }
  return create(pass, entry.attempt + 1);
}

/** The note for people, without the secrets that the inputs held. */
function noteOf(pass: SolutionPass, body: unknown): string | undefined {
  const secrets = Object.values(inputsOf(pass)).flatMap((input) => (input instanceof Secret ? [input.reveal()] : []));
  const note = solutionResultOf(body)?.postInstallNote;
  return secrets
    .filter((secret) => secret.length >= 4)
    .reduce((text, secret) => text?.replaceAll(secret, '[secret]'), note);
}
