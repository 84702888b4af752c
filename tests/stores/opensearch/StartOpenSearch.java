import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.opensearch.common.settings.Settings;
import org.opensearch.env.Environment;
import org.opensearch.knn.plugin.KNNPlugin;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;
import org.opensearch.painless.PainlessPlugin;
import org.opensearch.plugins.Plugin;
import org.opensearch.transport.Netty4Plugin;

/** Starts one node of OpenSearch on this machine: its home, its HTTP port and its transport port are the arguments. */
public class StartOpenSearch extends Node {
    StartOpenSearch(Environment environment, Collection<Class<? extends Plugin>> plugins) {
        super(environment, plugins, true);
    }

    public static void main(String[] arguments) throws Exception {
        Settings settings = Settings.builder()
            .put("path.home", Path.of(arguments[0]))
            .put("http.port", arguments[1])
            .put("transport.port", arguments[2])
            .put("network.host", "127.0.0.1")
            .put("discovery.type", "single-node")
            .put("cluster.name", "tests")
            .put("http.type", "netty4")
            .put("transport.type", "netty4")
            .build();
        Environment environment = InternalSettingsPreparer.prepareEnvironment(settings, Map.of(), null, () -> "node");
        new StartOpenSearch(environment, List.of(Netty4Plugin.class, PainlessPlugin.class, KNNPlugin.class)).start();
        Thread.currentThread().join();
    }
}
