/**
 * Makes the API classes of the library client-node share connections, and gives their calls a deadline. By themselves these
 * classes open a new connection with a TLS handshake for every call, and a call may never end.
 *
 * The sandbox, benchmarks and scenarios use this module. The operator and its commands use their own client (client.ts)
 * instead.
 */
import { KubeConfig, type RequestContext } from '@kubernetes/client-node';
import { Agent } from 'undici';

/**
 * Replaces `/apis//` by `/api/` in paths. The API class for custom objects puts the group into the path, and the name of the
 * core group is empty. With this replacement the class serves the core group too.
 */
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

  /** Closes all connections to the API server. Requests under way fail. */
  close(): Promise<void> {
    return this.#agent.destroy();
  }
}
