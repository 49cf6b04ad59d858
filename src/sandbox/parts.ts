import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { SandboxSettings } from '../config.ts';
import type { Binaries } from './binaries/binaries.ts';
import { startControlPlane } from './control-plane/control-plane.ts';
import type { ControlPlane } from './control-plane/control-plane.ts';
import { Daemon } from './control-plane/daemon.ts';
import type { Ports } from './data-folder.ts';
import { operator, operatorKubeconfig, simulator, simulatorState } from './programs.ts';
import type { Commands } from './programs.ts';
import { revival } from './revival.ts';

/** The parts that a sandbox's processes are made from. */
export interface Making {
  readonly dir: string;
  readonly binaries: Binaries;
  readonly commands: Commands;
  readonly settings: SandboxSettings;
  readonly ports: Ports;
  readonly say: (text: string) => void;
  readonly signal: AbortSignal;
  /** Told when a part was started again and has another process id. */
  readonly onRevived: () => Promise<void>;
}

/** The process ids of a sandbox, by the names in `pids.json`. */
type Pids = Readonly<Record<string, number | undefined>>;

/** The processes of a sandbox: started in two steps, kept up, ended in the right order. */
export class Parts {
  readonly #making: Making;
  readonly #revival: ReturnType<typeof revival>;
  readonly #simulator: Daemon;
  readonly #operator: Daemon;
  #controlPlane: ControlPlane | undefined;
  #isUp = false;

  constructor(making: Making) {
    this.#making = making;
    const { dir, commands, settings, ports, say, signal, onRevived } = making;
    this.#revival = revival(say, signal, onRevived);
    this.#simulator = new Daemon(simulator(commands, dir, ports.simulator, settings), (ending) =>
      this.#revival.ended('the simulator', ending, () => this.#simulator.start()),
    );
    this.#operator = new Daemon(operator(commands, dir, ports.metrics, settings.operatorArgs), (ending) =>
      this.#revival.ended('the operator', ending, () => this.#operator.start()),
    );
    signal.addEventListener('abort', this.#abandon, { once: true });
  }

  /** Aborting it ends processes that are still starting. */
  readonly #abandon = () => {
    if (!this.#isUp) void this.stop();
  };

  /** Rejects when a part does not stay up; never resolves. */
  get broken(): Promise<never> {
    return this.#revival.broken;
  }

  /** Starts Kubernetes and the simulator, side by side. */
  async startGround(): Promise<ControlPlane> {
    const { dir } = this.#making;
    await mkdir(dirname(simulatorState(dir)), { recursive: true });
    const [plane, service] = await Promise.allSettled([this.#startControlPlane(), this.#simulator.start()]);
    if (service.status === 'rejected') throw service.reason;
    if (plane.status === 'rejected') throw plane.reason;
    this.#making.signal.throwIfAborted();
    return plane.value;
  }

  /** Starts the operator on a control plane. */
  async startOperator(on: ControlPlane): Promise<void> {
    const path = operatorKubeconfig(this.#making.dir);
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await writeFile(path, on.kubeconfig('operator'), { mode: 0o600 });
    await this.#operator.start();
    this.#making.signal.throwIfAborted();
    this.#isUp = true;
  }

  /** The processes that run now. */
  pids(): Pids {
    return { ...this.#controlPlane?.pids(), simulator: this.#simulator.pid, operator: this.#operator.pid };
  }

  /** Ends every process: the operator, which talks to all others, first. */
  async stop(): Promise<void> {
    await this.#operator.stop();
    await Promise.all([this.#controlPlane?.stop(), this.#simulator.stop()]);
  }

  async #startControlPlane(): Promise<ControlPlane> {
    const { dir, binaries, say, signal, ports } = this.#making;
    this.#controlPlane = await startControlPlane({
      dir,
      binaries,
      say,
      signal,
      port: ports.kubernetes,
      onEnded: (part, ending) =>
        this.#revival.ended(part, ending, async () => this.#controlPlane?.daemons[part]?.start()),
    });
    return this.#controlPlane;
  }
}
