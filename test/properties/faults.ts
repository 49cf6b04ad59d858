import type { Disturbance } from '../support/disturbed-wire.ts';
import type { InProcessOptions } from '../support/in-process.ts';
import type { Life } from './lives.ts';
import { arranged, callsOf, leaksOf, wholeLife, type Plan } from './walk.ts';

/** Everything that can happen to one call to the service; a read that was done before it failed is like one that was not. */
const disturbances: readonly { readonly name: string; readonly is: Disturbance; readonly ofWrites?: true }[] = [
  { name: 'refused connection', is: 'refuseConnection' },
  { name: 'lost before it arrived', is: 'loseBefore' },
  { name: 'answer lost', is: 'loseAnswer', ofWrites: true },
  { name: 'never answered, not done', is: 'hangBefore' },
  { name: 'never answered, done', is: 'hangAfter', ofWrites: true },
  { name: '500, not done', is: { insteadOf: { status: 500, text: '{"error":"boom"}' } } },
  { name: '500, done', is: { afterwards: { status: 500, text: '{"error":"boom"}' } }, ofWrites: true },
  { name: '502 of a proxy, done', is: { afterwards: { status: 502, text: '<html>bad gateway</html>' } } },
  { name: '408, not done', is: { insteadOf: { status: 408 } } },
  { name: '429 with a time', is: { insteadOf: { status: 429, headers: { 'retry-after': '7' } } } },
  { name: '429 without', is: { insteadOf: { status: 429 } } },
  { name: '401 once', is: { insteadOf: { status: 401, text: '{"error":"no"}' } } },
  { name: 'garbage, done', is: { afterwards: { status: 200, text: '{"oops' } } },
  { name: 'garbage, not done', is: { insteadOf: { status: 200, text: '<html>sign in</html>' } } },
  { name: 'an empty answer, done', is: { afterwards: { status: 200, text: '' } } },
];

/** A fault at the nth call to the service, or at the nth request to Kubernetes since the life began. */
type Fault =
  | { readonly to: 'service'; readonly nth: number; readonly name: string; readonly is: Disturbance }
  | { readonly to: 'kubernetes'; readonly nth: number; readonly effect: Effect; readonly outcome: Outcome };
type Effect = 'before' | 'after';
type Outcome = 'hang' | 'unavailable' | 'conflict';

/** A life with these faults in it. */
export interface FaultPlan extends Plan {
  readonly faults: readonly Fault[];
  /** The process dies after it has met a fault that leaves it waiting, and another takes its place. */
  readonly dies: boolean;
}

/** What came of a life with faults. */
export interface FaultyLife {
  readonly wrong: readonly string[];
  /** The faults that were met: what happened, and to which request. */
  readonly met: readonly string[];
  readonly deaths: number;
}

/** Lives a life with faults to its end. */
export async function lifeWith(
  life: Life,
  { faults, dies }: Pick<FaultPlan, 'faults' | 'dies'>,
  options: InProcessOptions = {},
): Promise<FaultyLife> {
  const world = await arranged(life, options);
  const met: string[] = [];
  let waits = false;
  world.interference = ({ count, method, path }) => {
    const fault = faults.find((one) => one.to === 'service' && one.nth === count);
    if (fault?.to !== 'service') return undefined;
    met.push(`${fault.name}: ${method} ${path}`);
    waits ||= fault.is === 'hangBefore' || fault.is === 'hangAfter';
    return fault.is;
  };
  const first = world.kube.calls.length;
  const { kube } = world;
  for (const fault of faults) {
    if (fault.to !== 'kubernetes') continue;
    const { nth, effect, outcome } = fault;
    kube.inject({ after: nth, effect, outcome, times: 1 });
    waits ||= outcome === 'hang';
  }
  const wrong = await wholeLife(world, life, async () => {
    if (!dies || !waits) return;
    waits = false;
    await world.crash(120_000);
  });
  for (const fault of faults) {
    const call = fault.to === 'kubernetes' ? kube.calls[first + fault.nth] : undefined;
    if (fault.to === 'kubernetes' && call !== undefined)
      met.push(`${fault.outcome} ${fault.effect}: ${call.verb} ${call.plural}`);
  }
  return { wrong: [...wrong, ...(await leaksOf(world, life))], met, deaths: world.deaths };
}

/** Every outcome of every single call to the service. */
export async function outcomesOf(life: Life, options: InProcessOptions = {}): Promise<readonly FaultPlan[]> {
  return (await callsOf(life, options)).flatMap(({ nth, isWrite }) =>
    disturbances
      .filter(({ ofWrites }) => isWrite || ofWrites !== true)
      .map(({ name, is }) => ({
        faults: [{ to: 'service' as const, nth, name, is }],
        dies: false,
        matters: isWrite,
      })),
  );
}

/** The death of the process before every single call to the service, and after each that writes. */
export async function deathsAtCallsOf(life: Life, options: InProcessOptions = {}): Promise<readonly FaultPlan[]> {
  return (await callsOf(life, options)).flatMap(({ nth, isWrite }) =>
    (isWrite ? (['hangBefore', 'hangAfter'] as const) : (['hangBefore'] as const)).map((is) => ({
      faults: [{ to: 'service' as const, nth, name: is, is }],
      dies: true,
      matters: isWrite,
    })),
  );
}

/** Failures and the death of the process before and after every single write to Kubernetes. */
export async function faultsOfWritesOf(life: Life, options: InProcessOptions = {}): Promise<readonly FaultPlan[]> {
  const isWrite = (verb: string) => ['create', 'replace', 'replaceStatus', 'patch', 'get'].includes(verb);
  const quiet = await arranged(life, options);
  const first = quiet.kube.calls.length;
  await wholeLife(quiet, life);
  const writes = quiet.kube.calls.slice(first).map(({ verb, name }, nth) => ({ verb, name, nth }));
  return writes
    .filter(({ verb }) => isWrite(verb))
    .flatMap(({ name, nth }) =>
      (['before', 'after'] as const).flatMap((effect) =>
        (['hang', 'unavailable', 'conflict'] as const)
          .filter((outcome) => outcome !== 'conflict' || effect === 'before')
          .map((outcome) => ({
            faults: [{ to: 'kubernetes' as const, nth, effect, outcome }],
            dies: outcome === 'hang',
            matters: name === life.name,
          })),
      ),
    );
}

/** A plan in words. */
export function planInWords({ faults, dies }: FaultPlan): string {
  const words = faults.map((fault) =>
    fault.to === 'service'
      ? `call ${fault.nth}, ${fault.name}`
      : `write ${fault.nth}, ${fault.effect} ${fault.outcome}`,
  );
  return `${words.join(' and ')}${dies ? ', and the process dies' : ''}`;
}
