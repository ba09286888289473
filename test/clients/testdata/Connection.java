import java.net.URI;

/** Prints a page by the client that Java has had all along. */
public class Connection {
    public static void main(String[] args) throws Exception {
        System.out.print(new String(URI.create(args[0]).toURL().openStream().readAllBytes()));
    }
}
