import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Binaries } from '../binaries/binaries.ts';
import { certificateIn, credentialsIn, kubeconfigFor, type User, users } from './credentials.ts';
import { CannotStart } from '../cannot-start.ts';
import { Daemon, type Ending, type Program } from './daemon.ts';
import { controlPlanePrograms, endLeftovers, runFolder } from './leftovers.ts';
import { freePorts, isFree } from './ports.ts';
import { apiServer, controllerManager, etcd, type ProgramPlace } from './programs.ts';

/** The programs of which a control plane consists. */
type Part = 'etcd' | 'apiserver' | 'controllerManager';

/** The settings with which a control plane is started. */
export interface ControlPlaneOptions {
  /** The data folder. Programs of a control plane that an earlier run left running in this folder are ended first. */
  readonly dir: string;
  readonly binaries: Binaries;
  readonly say: (text: string) => void;
  /** The port of the API server. If it is taken, another port is used. */
  readonly port?: number;
  /** Further flags of the API server, such as an audit policy. */
  readonly apiServerFlags?: readonly string[];
  /**
   * If this signal is aborted during the start, the start fails, and the programs that were already started are ended.
   */
  readonly signal?: AbortSignal;
  /** Called when a program of the control plane has ended by itself after it was up. */
  readonly onEnded?: (part: Part, ending: Ending) => void;
}

/** A Kubernetes control plane whose programs run as processes on this machine. */
export type ControlPlane = Awaited<ReturnType<typeof startControlPlane>>;

/**
 * Starts a control plane in a data folder: etcd, kube-apiserver and, if its program was found, kube-controller-manager.
 */
export async function startControlPlane(options: ControlPlaneOptions) {
  const dir = resolve(options.dir);
  const place: ProgramPlace = { run: runFolder(dir), logs: join(dir, 'logs') };
  // End the programs of a control plane that an earlier run of the sandbox left running in this folder. Do not end
  // other processes of the folder, because the simulator of this run may be starting already.
  const ended = await endLeftovers(dir, controlPlanePrograms);
  if (ended > 0) options.say(`ended ${ended} processes that an earlier run in ${dir} left behind`);
  await mkdir(join(place.run, 'controller-manager'), { recursive: true, mode: 0o700 });

  const attempts = 3;
  for (let attempt = 1; ; attempt += 1) {
    // If the control plane fails to start, try again with other ports: another program may have taken a port that was free.
    try {
      return await startAt(dir, place, options);
    } catch (error) {
      options.signal?.throwIfAborted();
      if (attempt === attempts || !(error instanceof CannotStart)) throw error;
      const [reason = ''] = error.message.split('\n', 1);
      options.say(`starting the control plane again: ${reason}`);
    }
  }
}

async function startAt(dir: string, place: ProgramPlace, options: ControlPlaneOptions) {
  const { binaries, signal, say, onEnded = () => {}, apiServerFlags: flags = [] } = options;
  const [client = 0, peer = 0, free = 0] = await freePorts(3);
  const port = options.port !== undefined && (await isFree(options.port)) ? options.port : free;
  const credentials = await credentialsIn(join(place.run, 'apiserver'));
  const daemon = (part: Part, program: Program) => new Daemon(program, (ending) => onEnded(part, ending));
  const url = `https://127.0.0.1:${port}`;
  const managerConfig = join(place.run, 'controller-manager', 'kubeconfig');
  const etcdDaemon = daemon('etcd', etcd(binaries.etcd, place, { client, peer }));
  const settings = { port, etcdPort: client, credentials, flags };
  const apiserver = daemon('apiserver', apiServer(binaries.apiServer, place, settings));
  const manager =
    binaries.controllerManager &&
    daemon('controllerManager', controllerManager(binaries.controllerManager, place, managerConfig));
  const daemons = { etcd: etcdDaemon, apiserver, ...(manager && { controllerManager: manager }) };
  const stop = async () => {
    for (const one of Object.values(daemons).toReversed()) await one.stop();
  };
  try {
    for (const one of [etcdDaemon, apiserver]) await one.start(signal);
    const ca = (await certificateIn(credentials.certDir)) ?? '';
    /** Writes a kubeconfig for one of the built-in users. */
    const kubeconfig = (user: User) => kubeconfigFor(url, ca, users[user], credentials.tokenOf(user));
    const kubeconfigPath = join(dir, 'kubeconfig');
    await writeFile(kubeconfigPath, kubeconfig('admin'), { mode: 0o600 });
    await writeFile(managerConfig, kubeconfig('controllerManager'), { mode: 0o600 });
    if (manager) await manager.start(signal);
    else say('kube-controller-manager is missing: deleted namespaces will stay in Terminating');
    const adminToken = credentials.tokenOf('admin');
    // `stop` ends all programs of the control plane, etcd last. Through `daemons` a single program can be stopped and started
    // again; the program keeps its address.
    return { url, ca, adminToken, kubeconfigPath, kubeconfig, binaries, daemons, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
