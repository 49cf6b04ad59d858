import { Agent } from 'undici';
import { join } from 'node:path';
import { environmentWith } from '../../config.ts';
import { certificateIn, type ControlPlaneCredentials } from './credentials.ts';
import type { Program } from './daemon.ts';

/** The folders that the programs of a control plane use: `logs` for their logs, and `run` for their other files. */
export type ProgramPlace = Readonly<Record<'run' | 'logs', string>>;

const answerMs = 2000;

/**
 * Makes Go programs collect garbage only when the heap has grown by 400 percent, because the default of 100 costs the
 * API server much CPU time. The larger heap costs memory, up to GOMEMLIMIT. For tens of thousands of objects, set
 * GOMEMLIMIT to a higher value.
 */
const seldomCollected = { GOGC: '400', GOMEMLIMIT: '2GiB' };

/** Describes how to run etcd on 127.0.0.1 without fsync: the data survives a killed process, but not a crash of the machine. */
export function etcd(command: string, { run, logs }: ProgramPlace, ports: { client: number; peer: number }): Program {
  const client = `http://127.0.0.1:${ports.client}`;
  const peer = `http://127.0.0.1:${ports.peer}`;
  return {
    name: 'etcd',
    command,
    args: [
      '--name=default',
      `--data-dir=${join(run, 'etcd')}`,
      `--listen-client-urls=${client}`,
      `--advertise-client-urls=${client}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=default=${peer}`,
      '--unsafe-no-fsync',
      '--quota-backend-bytes=8589934592',
      '--log-level=warn',
    ],
    env: environmentWith({}, seldomCollected),
    logPath: join(logs, 'etcd.log'),
    isUp: () => answersOk(`${client}/health`),
    upWithinMs: 30_000,
    graceMs: 3000,
  };
}

/** The settings with which kube-apiserver is started. */
export interface ApiServerSettings {
  readonly port: number;
  readonly etcdPort: number;
  readonly credentials: ControlPlaneCredentials;
  /** Further flags of the API server. */
  readonly flags: readonly string[];
}

/**
 * Describes how to run kube-apiserver with RBAC, a certificate that the API server signs itself, and users that sign in with a
 * token.
 */
export function apiServer(command: string, { logs }: ProgramPlace, settings: ApiServerSettings): Program {
  const { port, etcdPort, credentials, flags } = settings;
  return {
    name: 'kube-apiserver',
    command,
    args: [
      `--etcd-servers=http://127.0.0.1:${etcdPort}`,
      '--bind-address=127.0.0.1',
      `--secure-port=${port}`,
      `--cert-dir=${credentials.certDir}`,
      '--authorization-mode=RBAC',
      `--token-auth-file=${credentials.tokenFile}`,
      '--service-account-issuer=https://kubernetes.default.svc',
      `--service-account-key-file=${credentials.serviceAccountKeyFile}`,
      `--service-account-signing-key-file=${credentials.serviceAccountKeyFile}`,
      '--service-cluster-ip-range=10.0.0.0/24',
      // Publish no address of the API server in the cluster, because only this machine can reach it.
      '--endpoint-reconciler-type=none',
      '--profiling=false',
      ...flags,
    ],
    env: environmentWith({}, seldomCollected),
    logPath: join(logs, 'kube-apiserver.log'),
    isUp: async () => {
      const ca = await certificateIn(credentials.certDir);
      return ca !== undefined && answersOk(`https://127.0.0.1:${port}/readyz`, ca);
    },
    upWithinMs: 90_000,
    // Give the API server only a short time to end before it is killed. With open watches it would need up to a minute. Killing
    // it loses nothing, because etcd already has all data.
    graceMs: 2000,
  };
}

/** Describes how to run kube-controller-manager with only the controllers that a cluster without nodes needs. */
export function controllerManager(command: string, { logs }: ProgramPlace, kubeconfig: string): Program {
  const controllers = [
    'garbage-collector-controller',
    'namespace-controller',
    'serviceaccount-controller',
    'clusterrole-aggregation-controller',
  ];
  return {
    name: 'kube-controller-manager',
    command,
    args: [
      `--kubeconfig=${kubeconfig}`,
      `--controllers=${controllers.join(',')}`,
      '--leader-elect=false',
      '--use-service-account-credentials=false',
      '--secure-port=0',
    ],
    logPath: join(logs, 'kube-controller-manager.log'),
    // Do not wait for the controller manager to come up, because it serves no port on which its state could be read.
    // The controller manager begins its work a second or two later.
    isUp: () => Promise.resolve(true),
    upWithinMs: 5000,
    graceMs: 2000,
  };
}

/** True if a server answers a GET with 200. `ca` is the certificate of the authority that signed the server's certificate. */
export async function answersOk(url: string, ca?: string): Promise<boolean> {
  const dispatcher = new Agent({ connect: ca === undefined ? {} : { ca } });
  const { origin, pathname: path } = new URL(url);
  try {
    const { statusCode } = await dispatcher.request({
      origin,
      path,
      method: 'GET',
      signal: AbortSignal.timeout(answerMs),
    });
    return statusCode === 200;
  } catch {
    return false;
  } finally {
    await dispatcher.destroy();
  }
}
