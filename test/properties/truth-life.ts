/** Random lives of an app and its environment, which are edited while answers are lost, calls refused, and the operator dies. */
import type { Disturbance } from '../support/disturbed-wire.ts';
import type { InProcess } from '../support/in-process.ts';
import { aWorld, conditionOf, environmentOf, messageOf, statusOf } from '../kinds/support/world.ts';
import { leaksOf } from './walk.ts';
import type { Lived } from './whole/whole-run.ts';
import { Draw } from './whole/whole-subjects.ts';

const no = '{"success":false,"error":"no"}';
const disturbances: readonly Disturbance[] = [
  'loseBefore',
  'loseAnswer',
  'hangBefore',
  'hangAfter',
  { insteadOf: { status: 400, text: no } },
  { insteadOf: { status: 503, text: no } },
  { afterwards: { status: 502, text: '' } },
];

interface AppSpec {
  readonly port: number;
  readonly image: { readonly reference: string };
  readonly healthCheck?: { readonly path: string };
}

interface EnvironmentSpec {
  readonly deploy: { readonly image: string };
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly startupConfig?: { readonly command: string };
}

function anApp(draw: Draw): AppSpec {
  const path = draw.of(['', '/a', '/b']);
  return {
    port: draw.of([8080, 9090]),
    image: { reference: draw.of(['r/app:1', 'r/app:2']) },
    ...(path !== '' && { healthCheck: { path } }),
  };
}

function anEnvironment(draw: Draw): EnvironmentSpec {
  const value = draw.of(['', '1', '2']);
  const command = draw.of(['', 'a', 'b']);
  return {
    deploy: { image: draw.of(['r/env:1', 'r/env:2', 'r/env:3']) },
    env: value === '' ? [] : [{ name: 'A', value }],
    ...(command !== '' && { startupConfig: { command } }),
  };
}

async function settled(world: InProcess): Promise<void> {
  await world.run(1_500_000);
  if (conditionOf(world, 'AppEnvironment', 'prod') === 'True/InSync') return;
  const spec = world.get('AppEnvironment', 'prod')?.spec as object;
  world.apply('AppEnvironment', 'prod', spec, { 'apphosting.dev/redeploy-at': 'once more' });
  await world.run(700_000);
}

const happenings = 8;

async function live(seed: number): Promise<{ world: InProcess; app: AppSpec; environment: EnvironmentSpec }> {
  const draw = new Draw(seed);
  const world = await aWorld({ seed });
  world.apply('HostedApp', 'api', anApp(draw));
  await world.run(5_000);
  const { externalId: appId } = statusOf(world, 'HostedApp', 'api');
  await world.control('POST', '/environments', { appEnvId: 'env_api', appId, name: 'prod', region: 'eu-west' });
  world.interference = ({ method }) => {
    if (method === 'GET' || draw.below(3) > 0) return undefined;
    if (draw.below(6) === 0) world.kill();
    return draw.of(disturbances);
  };
  let [app, environment] = [anApp(draw), anEnvironment(draw)];
  for (let step = 0; step < happenings; step += 1) {
    if (draw.below(2) === 0) app = anApp(draw);
    if (draw.below(2) === 0) environment = anEnvironment(draw);
    world.apply('HostedApp', 'api', app);
    world.apply('AppEnvironment', 'prod', { externalId: 'env_api', powerState: 'Running', ...environment });
    await world.run(draw.of([200, 3_000, 40_000, 200_000]));
    await world.crash(draw.below(2) * 120_000);
  }
  world.interference = () => undefined;
  await settled(world);
  return { world, app, environment };
}

async function heldApp(world: InProcess): Promise<Readonly<Record<string, unknown>>> {
  const { externalId: appId } = statusOf(world, 'HostedApp', 'api');
  const { collections } = (await world.control('GET', '/world')) as {
    collections: Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>;
  };
  return collections['apps']?.find((each) => each['appId'] === appId) ?? {};
}

/** One life to its end; where what the service holds is not what the specs say, also where it never shows it. */
export async function truthLived(seed: number): Promise<Lived> {
  const { world, app, environment } = await live(seed);
  const [variable] = environment.env;
  const shown = await environmentOf(world, 'env_api');
  const contents = shown['contents'] as readonly { contentId: string; image: string }[];
  const held = await heldApp(world);
  const pairs = [
    ['port', app.port, held['port']],
    ['health check', app.healthCheck?.path, held['healthCheckPath']],
    [
      'image',
      environment.deploy.image,
      contents.find(({ contentId }) => contentId === shown['currentContentId'])?.image,
    ],
    [
      'command',
      environment.startupConfig?.command,
      (shown['startupConfig'] as { command?: string } | undefined)?.command,
    ],
    ...(variable === undefined ? [] : [['variable', variable.value, (shown['envVars'] as { A?: string }).A] as const]),
  ] as const;
  const wrong = [
    ...notInSync(world, 'HostedApp', 'api'),
    ...notInSync(world, 'AppEnvironment', 'prod'),
    ...pairs.flatMap(([what, said, is]) =>
      said === is ? [] : [`${what}: the spec says ${String(said)}, and the service has ${String(is)}`],
    ),
    ...(await leaksOf(world, { planted: [] })),
  ];
  return { wrong, happened: happenings, deaths: world.deaths };
}

function notInSync(world: InProcess, kind: string, name: string): readonly string[] {
  const ready = conditionOf(world, kind, name);
  return ready === 'True/InSync' ? [] : [`${kind} says ${ready}: ${messageOf(world, kind, name)}`];
}
