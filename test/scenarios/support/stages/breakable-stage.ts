import process from 'node:process';
import { afterAll, beforeAll, beforeEach, onTestFailed } from 'vitest';
import type { BreakablePlane } from '../../../support/breakable-plane.ts';
import { startHostingService, type HostingService } from '../hosting-service.ts';
import { KeptOperator } from '../kept-operator.ts';
import { type Api, connect, definedPlane, eventually } from '../kubernetes.ts';
import { aPost } from '../operator-process.ts';
import { tcpGate, type TcpGate } from '../tcp-gate.ts';

/** What the tests of one file may break: a control plane of their own, and all that runs on it. */
export interface BreakableStage {
  /** Where files of these tests may be. */
  readonly dir: string;
  readonly plane: BreakablePlane;
  readonly api: Api;
  readonly service: HostingService;
  /** What lies between the operator and the API server. */
  readonly gate: TcpGate;
  readonly operator: KeptOperator;
}

interface SetStage extends BreakableStage {
  readonly strike: () => Promise<void>;
}

/** Sets a stage for all tests of a file; what it returns is there from the first test on. */
export function aBreakableStage(...flags: readonly string[]): () => BreakableStage {
  let stage: SetStage;
  beforeAll(async () => {
    stage = await set(flags);
    await stage.operator.keep();
  });
  beforeEach(() => onTestFailed(() => void process.stdout.write(stage.operator.printed().slice(-20_000))));
  afterAll(() => stage.strike());
  return () => stage;
}

async function set(flags: readonly string[]): Promise<SetStage> {
  const [plane, service] = await Promise.all([definedPlane(), startHostingService()]);
  const api = connect(plane);
  const gate = await tcpGate(Number(new URL(plane.url).port));
  const post = await aPost({ ...plane, url: `https://127.0.0.1:${gate.port}` }, api, 'cluster-wide');
  const operator = new KeptOperator(post, flags);
  const strike = async () => {
    gate.open();
    try {
      await operator.end();
    } finally {
      await gate.close();
      await Promise.all([service.end(), api.close()]);
      await plane.stop();
    }
  };
  return { dir: plane.dir, plane, api, service, gate, operator, strike };
}

/** Waits until the API server answers. */
export async function answering({ api }: Pick<BreakableStage, 'api'>): Promise<void> {
  await eventually('the API server answers', () => isReady({ api }));
}

function isReady({ api }: Pick<BreakableStage, 'api'>): Promise<boolean> {
  return api.get('/readyz').then(
    ({ status }) => status === 200,
    () => false,
  );
}

/** Kills etcd, and starts it again when the API server has noticed. */
export async function loseEtcd(stage: Pick<BreakableStage, 'api' | 'plane'>): Promise<void> {
  const { plane } = stage;
  process.kill(plane.daemons.etcd.pid ?? 0, 'SIGKILL');
  await eventually('etcd has ended', async () => plane.daemons.etcd.pid === undefined);
  await eventually('the API server has noticed', async () => !(await isReady(stage)));
  await plane.startEtcd();
  await answering(stage);
}
