/**
 * Gives the API classes of client-node shared connections and a deadline, for the sandbox, benchmarks and scenarios. Without
 * this module these classes open a new connection with a TLS handshake for every call, and a call may take for ever.
 *
 * The operator and its commands use their own client (client.ts) instead.
 */
import { KubeConfig, type RequestContext } from '@kubernetes/client-node';
import { Agent } from 'undici';

/** Replaces `/apis//` by `/api/` in paths, so that the API class for any group also serves the core group, whose name is empty. */
const [emptyGroup, coreGroup] = ['/apis//', '/api/'];

/** A KubeConfig whose calls share connections and have a deadline. */
export class ConnectedConfig extends KubeConfig {
  readonly #agent: Agent;
  readonly #answerMs: number;

  /**
   * `ca` is the certificate of the authority that signed the API server's certificate; undefined if the system trusts the
   * authority. `answerMs` is the deadline of each call.
   */
  constructor(ca: string | undefined, answerMs: number) {
    super();
    this.#agent = new Agent({ connections: 16, connect: ca === undefined ? {} : { ca } });
    this.#answerMs = answerMs;
  }

  override async applySecurityAuthentication(context: RequestContext): Promise<void> {
    await super.applySecurityAuthentication(context);
    context.setUrl(context.getUrl().replace(emptyGroup, coreGroup));
    context.setDispatcher(this.#agent);
    context.setSignal(AbortSignal.timeout(this.#answerMs));
  }

  /** Closes all connections. */
  close(): Promise<void> {
    return this.#agent.destroy();
  }
}
