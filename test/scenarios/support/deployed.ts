import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { env, execPath } from 'node:process';
import { inject, onTestFinished } from 'vitest';
import type { BreakablePlane } from '../../support/breakable-plane.ts';
import { kubeconfigFor } from '../../../src/sandbox/control-plane/credentials.ts';
import { Daemon } from '../../../src/sandbox/control-plane/daemon.ts';
import { freePorts } from '../../../src/sandbox/control-plane/ports.ts';
import { answersOk } from '../../../src/sandbox/control-plane/programs.ts';
import { type Listening, startSimulator } from '../../../src/simulator/start.ts';
import { type Api, kubectl, waiting } from './kubernetes.ts';
import { keepingCompiled } from './running.ts';

const root = join(import.meta.dirname, '..', '..', '..');

/** The operator as an overlay deploys it: with the ServiceAccount's own token and the arguments of its Deployment. */
export interface Deployed {
  readonly namespace: string;
  /** The name of its ServiceAccount in audit logs. */
  readonly user: string;
  readonly simulator: Listening;
  readonly log: () => Promise<string>;
  readonly stop: () => Promise<void>;
}

/** Folders and names of what is applied. */
export const overlays = join(root, 'deploy', 'kustomize', 'overlays');

/** Applies an overlay by its name, or a folder, and runs what its Deployment would run as a process of this machine, against a simulator. */
export async function deployed(plane: BreakablePlane, api: Api, overlay: string, namespace: string): Promise<Deployed> {
  await kubectl(plane, 'apply', '-k', resolve(overlays, overlay));
  const simulator = await startSimulator();
  onTestFinished(() => simulator.close());
  return { ...(await startDeployed(plane, api, namespace)), simulator };
}

/** Runs what the Deployment of this namespace would run, as a process of this machine. */
export async function startDeployed(
  plane: BreakablePlane,
  api: Api,
  namespace: string,
): Promise<Omit<Deployed, 'simulator'>> {
  const kubeconfig = join(dirname(plane.kubeconfigPath), `deployed-${randomUUID().slice(0, 8)}`);
  await writeFile(kubeconfig, kubeconfigFor(plane.url, plane.ca, 'operator', await tokenOf(api, namespace)));
  const [port = 0] = await freePorts(1);
  const listen = `127.0.0.1:${port}`;
  const fromDeployment = (await argumentsOf(api, namespace)).filter((arg) => !arg.startsWith('--metrics-listen'));
  const here = ['--kubeconfig', kubeconfig, '--metrics-listen', listen, '--allow-insecure-loopback'];
  const logPath = `${kubeconfig}.log`;
  const daemon = new Daemon({
    name: 'the operator',
    command: execPath,
    args: [inject('prepared').program, ...fromDeployment, ...here, '--operator-namespace', namespace],
    env: { ...env, ...keepingCompiled() },
    logPath,
    isUp: () => answersOk(`http://${listen}/readyz`),
    upWithinMs: waiting.deadlineMs,
    graceMs: 30_000,
  });
  await daemon.start();
  onTestFinished(() => daemon.stop());
  const user = `system:serviceaccount:${namespace}:apphosting-operator`;
  return { namespace, user, log: () => readFile(logPath, 'utf8'), stop: () => daemon.stop() };
}

async function tokenOf(api: Api, namespace: string): Promise<string> {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/apphosting-operator/token`;
  const { body } = await api.post(path, { spec: { expirationSeconds: 3_600 } });
  return (body as { status: { token: string } }).status.token;
}

async function argumentsOf(api: Api, namespace: string): Promise<readonly string[]> {
  const { body } = await api.get(`/apis/apps/v1/namespaces/${namespace}/deployments/apphosting-operator`);
  const { spec } = body as { spec: { template: { spec: { containers: readonly { args: readonly string[] }[] } } } };
  return (spec.template.spec.containers[0]?.args ?? []).map((arg) => arg.replace('$(POD_NAMESPACE)', namespace));
}
