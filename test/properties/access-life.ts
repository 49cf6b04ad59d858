/** Random lives of one member's access: edits, lost answers, late calls, dying processes, and environments that the member makes. */
import { InProcess } from '../support/in-process.ts';
import type { Lived } from './whole/whole-run.ts';
import { leaksOf } from './walk.ts';
import { Draw } from './whole/whole-subjects.ts';

const all = ['env_web_prod', 'env_web_staging', 'env_db_prod', 'env_fn_prod'];
const happenings = 14;
const troubles = ['loseBefore', 'loseAnswer', 'hangAfter', 'refuseConnection', { lateMs: 60_000 }] as const;

/** One life of a member's access; what was wrong in the end, with what happened. */
export async function accessLived(seed: number): Promise<Lived> {
  const draw = new Draw(seed);
  const world = new InProcess({ seed });
  await world.start();
  world.account();
  await world.run(5_000);
  const trace: string[] = [];
  const made: string[] = [];
  let wanted: readonly string[] = [];
  let name = 'm0';
  const apply = () => {
    const environmentRefs = wanted.map((externalId) => ({ externalId }));
    world.apply('MemberAccess', name, { externalId: 'mem_demo', access: 'Restricted', environmentRefs });
    trace.push(`${name} names ${wanted.join(', ')}`);
  };
  const edit = () => {
    const some = all.filter(() => draw.chance(0.5));
    wanted = some.length > 0 ? some : [draw.of(all)];
    apply();
  };
  edit();
  for (let count = 0; count < happenings; count += 1) {
    const what = draw.below(100);
    if (what < 45) edit();
    else if (what < 75) {
      const trouble = draw.of(troubles);
      let left = 1 + draw.below(2);
      world.interference = ({ method }) => (method === 'PATCH' && left-- > 0 ? trouble : undefined);
      trace.push(`the next lists meet ${JSON.stringify(trouble)}`);
    } else if (what < 85) {
      trace.push('the process dies');
      await world.crash(120_000);
    } else if (what < 92) {
      const appEnvId = `env_own_${count}`;
      const body = { appEnvId, appId: 'app_web', name: appEnvId, region: 'eu-west', createdBy: 'demo-member' };
      if ((await reach(world)).length > 0) made.push(appEnvId);
      await world.control('POST', '/environments', body);
      trace.push(`the member makes ${appEnvId}`);
    } else {
      // As GitOps renames: the new one is applied, the old one is pruned.
      const before = name;
      name = `m${count + 1}`;
      apply();
      await world.run(3_000);
      world.delete('MemberAccess', before);
      trace.push(`${before} is pruned`);
    }
    await world.run(draw.of([0, 300, 1_000, 3_000, 20_000, 70_000]));
  }
  world.interference = () => undefined;
  await world.run(600_000);
  const has = await reach(world);
  const extras = has.filter((id) => !wanted.includes(id) && !made.includes(id));
  const lacks = wanted.filter((id) => !has.includes(id));
  const emptied = (await world.ledger()).some(
    (commit) => commit.kind === 'memberAccess.updated' && JSON.stringify(commit).includes('"allowedAppEnvIds":[]'),
  );
  const wrong = [
    ...extras.map((id) => `may reach ${id}`),
    ...lacks.map((id) => `may not reach ${id}`),
    ...(emptied ? ['was given everything'] : []),
    ...(await leaksOf(world, { planted: [] })),
  ];
  return { wrong: wrong.length === 0 ? [] : [...wrong, ...trace], happened: happenings, deaths: world.deaths };
}

async function reach(world: InProcess): Promise<readonly string[]> {
  const { body } = await world.request('GET', '/member/env-access?accountId=acc_demo&membershipId=mem_demo');
  return (body as { allowedAppEnvIds: readonly string[] }).allowedAppEnvIds;
}
